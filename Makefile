# The two commands of the README. Everything lives in a virtual environment beside this file.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(EXTRA)

.PHONY: demo test lint types contracts unit install clean
