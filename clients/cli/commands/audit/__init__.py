"""``audit model``, ``audit population``: examining models without trusting who made them."""

from __future__ import annotations

import typer

from clients.cli.commands.audit.model import model
from clients.cli.commands.audit.population import population

__all__ = ["audit"]

audit = typer.Typer(help="Examine models without trusting who made them.", no_args_is_help=True)
audit.command("model")(model)
audit.command("population")(population)
