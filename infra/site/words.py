"""Texts of the code as Markdown."""

from __future__ import annotations

__all__ = ["cell", "code", "paragraph", "sentence"]


def code(text: str) -> str:
    """For a cell of a table, as code, where Markdown reads nothing."""
    return f"`{' '.join(text.split())}`"


def cell(text: str) -> str:
    """For a cell of a table: on one line, without what Markdown or HTML would read."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")


def paragraph(text: str | None) -> str:
    """A docstring on one line, with code as Markdown writes it and not as Sphinx does."""
    return " ".join((text or "").split()).replace("``", "`").replace("<", "&lt;")


def sentence(text: str | None) -> str:
    """A help text, whose ``\\b`` and line ends belong to a terminal."""
    return paragraph((text or "").replace("\b", ""))
