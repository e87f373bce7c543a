"""``leakrange reproduce``: a paper's tables, measured again."""

from __future__ import annotations

import typer

from clients.cli.commands.reproduce.faceleaks import faceleaks
from clients.cli.commands.reproduce.hbc import hbc

__all__ = ["reproduce"]

reproduce = typer.Typer(
    help="Measure a paper's tables again: paper, ours and the difference.", no_args_is_help=True
)
reproduce.command()(hbc)
reproduce.command()(faceleaks)


@reproduce.callback()
def _papers() -> None:
    """One command for each paper."""
