"""Options that both commands share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Changed", "Data", "Labelled", "Limit", "Seed", "Sensitive", "Size", "Tested"]

Data = Annotated[str, typer.Option("--data", help="the data set that the model is claimed to be for")]
Size = Annotated[
    int | None, typer.Option(help="side of its pictures in pixels (default: the data set's own)")
]
Limit = Annotated[int | None, typer.Option(help="keep so many samples of each split of the data set")]
Labelled = Annotated[int, typer.Option(help="labelled samples to train the model on, at most")]
Tested = Annotated[int, typer.Option("--test", help="samples whose outputs are compared, at most")]
Sensitive = Annotated[
    str | None, typer.Option(help="look for this attribute in its outputs (the test of curiosity)")
]
Seed = Annotated[int, typer.Option(help="draws the samples and their order")]
Changed = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="a setting of the further training: rounds, lr, ... (repeatable)"
    ),
]
