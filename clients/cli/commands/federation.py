"""``federation recipes``: what a federation of several processes trains before a run. Needs no range."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakrange.clients.cli.console import print_json
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.scenario_files import mistake_lines, read_scenario
from leakrange.wire.errors import InvalidScenario

__all__ = ["federation"]

federation = typer.Typer(help="Extractors that devices learn together.", no_args_is_help=True)


@federation.callback()
def _group() -> None:
    """Keeps the name of the one command that there is."""


@federation.command("recipes")
def recipes(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a YAML or JSON file with a scenario")],
) -> None:
    """Print the recipes of all extractors that a scenario needs, as `python -m leakrange.services.federation
    run` takes them. Ends with 2 where the scenario has mistakes."""
    from leakrange.defences.registered import is_federated
    from leakrange.scenario.language import parse
    from leakrange.scenario.matrix import expand

    try:
        plan = expand(parse(read_scenario(file)))
    except InvalidScenario as error:
        lines = mistake_lines(file, error.extra.get("mistakes", []))
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint, lines=lines) from error
    planned = [each.recipe for each in plan.obfuscators]
    print_json([each.model_dump(mode="json") for each in planned if is_federated(each)])
