"""``trace``: what the parties did for a run, step by step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from leakrange.clients.cli.connection import state_folder
from leakrange.clients.cli.console import print_json, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State
from leakrange.clients.cli.traces import lines, read, trees

__all__ = ["trace"]


def trace(
    wanted: Annotated[
        str, typer.Argument(metavar="RUN", help="the run's id, or the id of a trace from a log")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", help="folder with the parties' spans (default: $LEAKRANGE_TRACES, else of the range)"
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="print every step, also of many alike")] = False,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Print what the parties did for a run: who asked whom for what, and how long it took.

    Needs a range that writes its spans: 'leakrange up --traces', or LEAKRANGE_TRACES=FOLDER for each party.
    """
    named = os.environ.get("LEAKRANGE_TRACES")
    place = folder or (Path(named) if named else state_folder(state).traces)
    steps = trees(read(place), wanted)
    if not steps:
        raise CliError(
            f"nothing in {place} belongs to {wanted!r}",
            code=Exit.USAGE,
            hint="spans are written while 'leakrange up --traces' runs; 'leakrange runs' lists the runs",
        )
    if as_json:
        print_json([step.told() for step in steps])
        return
    for line in lines(steps, every=every):
        say(line)
