"""``answers audit``, ``answers listen``: answers of a model that were collected elsewhere."""

from __future__ import annotations

import typer

from leakrange.clients.cli.commands.answers.audit import audit_answers
from leakrange.clients.cli.commands.answers.listen import listen

__all__ = ["answers"]

answers = typer.Typer(help="Attack answers of a model that were collected elsewhere.", no_args_is_help=True)
answers.command("audit")(audit_answers)
answers.command("listen")(listen)
