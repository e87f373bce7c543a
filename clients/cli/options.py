"""Options that several commands share, and the range that they name: an embedded one by its state folder, any
other by its addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakrange.client import Range
from leakrange.client.embedded import state_path
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.wire.errors import InvalidInput

__all__ = ["AsJson", "Force", "Open", "State", "Url", "connect", "state_folder"]

State = Annotated[
    Path | None,
    typer.Option("--state", help="folder of the embedded range (default: $LEAKRANGE_STATE, else .leakrange)"),
]
Url = Annotated[
    str | None,
    typer.Option("--url", help="controller of another range (default: $LEAKRANGE_URL)"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for programs")]
Force = Annotated[bool, typer.Option("--force", help="write over the file if it is there")]
Open = Annotated[bool, typer.Option("--open", help="open the report in a browser if there is a desktop")]


def state_folder(state: Path | None) -> StateFolder:
    """The folder that ``--state`` names, else LEAKRANGE_STATE, else ``.leakrange`` here. Raises
    `InvalidInput` if that is a file."""
    return StateFolder(state_path(state))


def connect(state: Path | None, url: str | None) -> Range:
    """Connect to the range at ``url`` (or LEAKRANGE_URL), else to the embedded one of the state folder. Close
    it.

    Raises `CliError` for an invalid address, and `Unavailable` if no embedded range runs.
    """
    if url is None:
        return Range.embedded(state) if state else Range.find()
    try:
        return Range.at(url)
    except InvalidInput as error:
        raise CliError(f"--url {error.detail}", code=Exit.USAGE, hint=error.hint) from error
