"""Output of the command: results on standard output, everything else on standard error.

Much of it comes from others: names of models and runs, messages, errors. No such text reaches a terminal with
characters that would steer it, hide other text or turn its order: they are shown as ``\x1b`` or ``\u202e``.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
import webbrowser
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakrange.clients.cli.exits import CliError

__all__ = [
    "fits",
    "note",
    "open_page",
    "plain",
    "print_json",
    "print_table",
    "print_text",
    "problem",
    "say",
    "screen",
]

_out = Console(highlight=False, soft_wrap=True)  # a pipe without $COLUMNS is 80 wide
screen = Console(stderr=True, highlight=False, soft_wrap=True)
"""For what is drawn again and again while something goes on. What it is given is `plain`."""
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters: controls, formats (which turn the order, or have no width), halves of characters,
and separators of lines and paragraphs."""


def plain(text: str, *, lines: bool = False) -> str:
    """Return ``text`` with an escape for every character that would steer a terminal; ends of ``lines``, and
    tabs, may stay."""
    allowed = "\n\t" if lines else ""
    return "".join(
        each if each in allowed or unicodedata.category(each) not in _STEERING else _shown(each)
        for each in text
    )


def _shown(character: str) -> str:
    return ascii(character)[1:-1]


def say(message: str) -> None:
    """Print a line of the result."""
    _out.print(Text(plain(message)))


def note(message: str) -> None:
    """Print a message that is not the command's result."""
    screen.print(Text(plain(message)))


def print_text(text: str) -> None:
    """Print a result that has a form of its own, such as CSV: unchanged into a file or a pipe."""
    sys.stdout.write(plain(text, lines=True) if sys.stdout.isatty() else text)


def print_json(value: Any) -> None:
    """Print the result for programs: JSON on standard output, without colours. Schemas may be among it."""
    written = orjson.dumps(value, _dumped, option=orjson.OPT_INDENT_2).decode()
    # Within a string each of them may be written by its number, and nowhere else do they stand.
    sys.stdout.write(re.sub(r"[^\n -~]", _numbered, written) + "\n")


def _dumped(schema: Any) -> Any:
    if isinstance(schema, BaseModel):
        return schema.model_dump(mode="json")
    raise TypeError(f"{type(schema).__name__} is no JSON")


def _numbered(match: re.Match[str]) -> str:
    if unicodedata.category(match[0]) not in _STEERING:
        return match[0]
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
    """Print the result for people, or the message ``empty`` if there are no rows.

    What is wider than the screen is folded between words. Where not even that fits, each row is printed as a
    list of its cells, so that no name is cut in two.
    """
    heads = [Text(plain(column)) for column in columns]
    cells = [[Text("" if cell is None else plain(str(cell))) for cell in row] for row in rows]
    if not cells:
        note(empty)
        return
    widths = _widths([heads, *cells], _out.width)
    if widths is None:
        _print_lists(heads, cells)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head, width in zip(heads, widths, strict=True):
        table.add_column(head, width=width, overflow="fold")
    for row in cells:
        table.add_row(*row)
    _out.print(table)


def fits(rows: Iterable[Sequence[str | None]]) -> bool:
    """Whether a table of these rows, its heads among them, needs no folding on this screen."""
    columns = list(zip(*rows, strict=True))
    return sum(max(cell_len(cell or "") for cell in column) + 2 for column in columns) - 2 <= _out.width


def _widths(rows: Sequence[Sequence[Text]], room: int) -> list[int] | None:
    """The widths of columns two apart that fit the room, each as wide as its longest word at least; None
    where they do not."""
    columns = list(zip(*rows, strict=True))
    widths = [max(cell.cell_len for cell in column) for column in columns]
    least = [max(_longest_word(cell) for cell in column) for column in columns]
    room -= 2 * (len(columns) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((width, place) for place, width in enumerate(widths) if width > least[place])[1]
        widths[widest] -= 1
    return widths


def _longest_word(cell: Text) -> int:
    return max((cell_len(word) for word in cell.plain.split(" ")), default=0)


def _print_lists(heads: Sequence[Text], rows: Sequence[Sequence[Text]]) -> None:
    """Print each row as its first cell and, below it, the others that are not empty with their heads."""
    for first, *others in rows:
        _out.print(first)
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(width=0)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for head, cell in zip(heads[1:], others, strict=True):
            if cell:
                table.add_row("", head, cell)
        if table.row_count:
            _out.print(table)


def problem(error: CliError) -> None:
    """Print an error: its lines, what happened, and what to do."""
    for line in error.lines:
        note(line)
    screen.print(Text.assemble(("error: ", "bold red"), plain(error.message)))
    if error.hint:
        screen.print(Text.assemble(("hint: ", "bold"), plain(error.hint)))


def open_page(url: str) -> bool:
    """Open a page in a browser if there is a desktop; return whether there is one."""
    desktop = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(desktop) and webbrowser.open(url)
