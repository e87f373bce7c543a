"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Open", "State", "Url"]

State = Annotated[
    Path | None,
    typer.Option("--state", help="folder of the embedded range (default: $LEAKRANGE_STATE, else .leakrange)"),
]
Url = Annotated[
    str | None,
    typer.Option("--url", help="controller of another range (default: $LEAKRANGE_URL)"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for programs")]
Open = Annotated[bool, typer.Option("--open", help="open the report in a browser if there is a desktop")]
