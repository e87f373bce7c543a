"""``scenario check``, ``scenario schema``, ``federation recipes``: the scenario language. Need no range.

The language brings every registered attack, defence and data set with it: it is imported where it is used, so
that the other commands answer at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.files import mistakes_named, read_scenario
from leakrange.clients.cli.options import AsJson

__all__ = ["federation", "scenario"]

scenario = typer.Typer(help="The scenario language.", no_args_is_help=True)
federation = typer.Typer(help="Extractors that devices learn together.", no_args_is_help=True)


@scenario.command("check")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a YAML or JSON file")],
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="it is for another machine: data may be missing on this one")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tell every mistake of a scenario, missing data included, or how many trials it makes and what it leaves
    out. Ends with 2 where there are mistakes."""
    from leakrange.scenario.forecast import foreseen
    from leakrange.scenario.language import parse

    with mistakes_named(file, as_json=as_json):
        plan = foreseen(parse(read_scenario(file), here=not elsewhere))
    if as_json:
        told = plan.model_dump(include={"name", "trials", "models", "warnings"})
        print_json({"valid": True, **told})
        return
    note(f"{file}: {plan.name}, {plan.models} models to train, {plan.trials} trials")
    for warning in plan.warnings:
        note(f"warning: {warning}")


@scenario.command("list")
def listed(as_json: AsJson = False) -> None:
    """List the ready scenarios, which 'leakrange run NAME' takes from any folder."""
    from leakrange.scenario.shipped import shipped

    ready = shipped().values()
    if as_json:
        print_json([{"name": each.name, "summary": each.summary} for each in ready])
        return
    print_table(("scenario", "asks"), [(each.name, each.summary) for each in ready], empty="")


@scenario.command("schema")
def schema() -> None:
    """Print the JSON schema of scenarios, for editors."""
    from leakrange.scenario.schema import scenario_schema

    print_json(scenario_schema())


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

    with mistakes_named(file):
        plan = expand(parse(read_scenario(file)))
    print_json([each.recipe for each in plan.obfuscators if is_federated(each.recipe)])
