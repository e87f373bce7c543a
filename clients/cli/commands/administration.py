"""The frame of the commands that administer the proxy: ``list``, ``show`` and ``delete`` of what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import typer

from leakrange.client import Range
from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.wire.names import is_name

__all__ = ["Administered", "Named", "checked_name", "words"]

Entry = TypeVar("Entry")
Named = Annotated[str, typer.Argument(metavar="NAME", help="by which the proxy knows it")]


@dataclass(frozen=True)
class Administered(Generic[Entry]):
    """A kind of thing that the proxy keeps, such as policies, and the texts that people read of them."""

    noun: str
    plural: str
    read: Callable[[Range, str], Entry]
    """One of them by its name. Raises `NotFound`."""
    rows: Callable[[Entry], Mapping[str, Any]]
    """What a table shows of one."""
    details: Callable[[Entry], Mapping[str, Any]]
    """What ``show`` prints of one."""

    def add_list(
        self, app: typer.Typer, everything: Callable[[Range], Sequence[Entry]], *, empty: str
    ) -> None:
        """Add ``list``: a table of ``everything``, or the message ``empty``."""

        @app.command("list", help=f"List the {self.plural}.")
        def list_all(state: State = None, url: Url = None, as_json: AsJson = False) -> None:
            with connect(state, url) as place:
                entries = everything(place)
            if as_json:
                print_json(entries)
                return
            rows = [self.rows(entry) for entry in entries]
            print_table(list(rows[0]) if rows else [], [list(row.values()) for row in rows], empty=empty)

    def add_show(self, app: typer.Typer) -> None:
        """Add ``show``: everything about one of them."""

        @app.command("show", help=f"Show one {self.noun}.")
        def show(name: Named, state: State = None, url: Url = None, as_json: AsJson = False) -> None:
            checked_name(name, self.noun)
            with connect(state, url) as place:
                entry = self.read(place, name)
            self.print_one(entry, as_json=as_json)

    def add_delete(self, app: typer.Typer, delete: Callable[[Range, str], Any], *, done: str) -> None:
        """Add ``delete``; ``done`` says what has become of it."""

        @app.command("delete", help=f"Delete one {self.noun}.")
        def delete_one(name: Named, state: State = None, url: Url = None) -> None:
            checked_name(name, self.noun)
            with connect(state, url) as place:
                delete(place, name)
            note(f"{self.noun} {name!r} {done}")

    def print_one(self, entry: Entry, *, as_json: bool) -> None:
        """Print all about one of them: JSON, or a line for each detail that it has."""
        if as_json:
            print_json(entry)
            return
        lines = [(name, value) for name, value in self.details(entry).items() if value is not None]
        print_table((self.noun, ""), lines, empty="")


def checked_name(name: str, noun: str) -> None:
    """Raise `CliError` where this cannot be the name of a ``noun``."""
    if not is_name(name):
        raise CliError(
            f"{name!r} is no {noun}'s name: letters, digits, '.', '_' and '-'",
            code=Exit.USAGE,
        )


def words(names: Sequence[str] | None, everything: str) -> str:
    """Names in a cell; ``everything`` stands for a list that is not there."""
    return everything if names is None else ", ".join(names) or "none"
