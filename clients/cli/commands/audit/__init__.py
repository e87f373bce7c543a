"""``audit endpoint``, ``audit model``, ``audit population``: examine models without trusting their makers."""

from __future__ import annotations

import typer

from leakrange.clients.cli.commands.audit.endpoint import endpoint
from leakrange.clients.cli.commands.audit.model import model
from leakrange.clients.cli.commands.audit.population import population

__all__ = ["audit"]

audit = typer.Typer(help="Examine models without trusting who made them.", no_args_is_help=True)
audit.command("endpoint")(endpoint)
audit.command("model")(model)
audit.command("population")(population)
