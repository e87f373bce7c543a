"""A target's file on this machine, and its release as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file
from leakrange.targets.target import RemoteTarget, read_target

__all__ = ["TargetFile", "read_file_of", "release_rows"]

MOST_BYTES = 2**20
"""The longest file of a target."""
SHOWN = 40
"""Values of a release that a table shows."""

TargetFile = Annotated[Path, typer.Argument(metavar="FILE", help="the target's file: YAML")]


def read_file_of(path: Path) -> RemoteTarget:
    """The target that a file describes. Raises `CliError` where it cannot be read, and `InvalidInput`, which
    names every mistake with its place."""
    content = read_file(path)
    if len(content) > MOST_BYTES:
        raise CliError(f"{path} is longer than {MOST_BYTES} bytes: no target's file is", code=Exit.USAGE)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CliError(
            f"{path} is no text, and so no target's file",
            code=Exit.USAGE,
            hint="'leakrange target new' makes one; 'leakrange audit model --file FILE' takes a model's file",
        ) from error
    return read_target(text)


def release_rows(target: RemoteTarget, values: Sequence[float]) -> list[tuple[str, str]]:
    """The rows of a table of one sample's release (N,): each class, or number, and its value."""
    card = target.card
    by_class = len(card.classes) == len(values) and card.release in ("softmax", "logits")
    names = card.classes if by_class else [str(place) for place in range(len(values))]
    rows = [(name, f"{value:.6g}") for name, value in zip(names, values, strict=True)]
    left = len(rows) - SHOWN
    return rows if left <= 0 else [*rows[:SHOWN], (f"and {left} more", "")]
