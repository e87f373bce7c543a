"""What the command prints: results on standard output, everything that is about them on standard error."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clients.cli.exits import CliError

__all__ = ["note", "open_page", "out", "print_json", "print_table", "problem", "told"]

# A pipe has no width: tables must not be folded for it.
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 240)
told = Console(stderr=True, highlight=False, soft_wrap=True)


def note(message: str) -> None:
    """Print a message that is not the command's result."""
    told.print(Text(message))


def print_json(value: Any) -> None:
    """Print the result for programs: JSON on standard output, without colours."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
    """Print the result for people, or the message ``empty`` where there are no rows."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    if table.row_count:
        out.print(table)
    else:
        note(empty)


def problem(error: CliError) -> None:
    """Print an error: its lines, what happened, and what to do."""
    for line in error.lines:
        told.print(Text(line))
    told.print(Text.assemble(("error: ", "bold red"), error.message))
    if error.hint:
        told.print(Text.assemble(("hint: ", "bold"), error.hint))


def open_page(path: Path) -> None:
    """Open a page in a browser if there is a desktop."""
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(path.resolve().as_uri())
