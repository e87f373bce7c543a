"""``backup`` and ``restore``: an embedded range in a folder, and out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakrange.clients.cli.console import note
from leakrange.clients.cli.embedded.backup import back_up
from leakrange.clients.cli.embedded.backup import restore as restore_from
from leakrange.clients.cli.options import State, state_folder

__all__ = ["backup", "restore"]

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="the folder of the backup")]


def backup(folder: Folder, state: State = None) -> None:
    """Copy the embedded range to a new folder while it works: runs, models, answers, keys and secrets."""
    back_up(state_folder(state), folder.absolute())
    note(f"the range is copied to {folder}, with its secrets: keep it where nobody else reads it")


def restore(folder: Folder, state: State = None) -> None:
    """Make a range of a backup, in a state folder that is not there yet. 'leakrange up' starts it.

    Keys that people made have no samples left until you give them a budget again: what they spent after the
    backup is not known."""
    place = state_folder(state)
    locked = restore_from(folder.absolute(), place)
    note(f"the range is in {place.root}; start it with 'leakrange up --state {place.root}'")
    if locked:
        note(
            f"{len(locked)} keys have no samples left, since nobody knows what they spent after the backup:"
            f" {', '.join(locked[:20])}{', ...' if len(locked) > 20 else ''}."
            " Give each a whole budget, spent samples included: leakrange keys put ID --budget N"
        )
