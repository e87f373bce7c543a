"""Collecting tests makes a million objects that stay: Python's garbage collector need not go through them
again and again, neither meanwhile nor after.

A hook of pytest; `tests/conftest.py` passes it on.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

__all__ = ["pytest_collection"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
