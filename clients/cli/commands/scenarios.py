"""``scenario check``, ``scenario schema``: the scenario language. Need no range.

The language brings every registered attack, defence and data set with it: it is imported where it is used, so
that the other commands answer at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakrange.clients.cli.console import note, print_json
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson
from leakrange.clients.cli.scenario_files import mistake_lines, read_scenario
from leakrange.wire.errors import InvalidScenario

__all__ = ["scenario"]

scenario = typer.Typer(help="The scenario language.", no_args_is_help=True)


@scenario.command("check")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a YAML or JSON file")],
    as_json: AsJson = False,
) -> None:
    """Tell every mistake of a scenario, or how many trials it makes and what it leaves out. Ends with 2 where
    there are mistakes."""
    from leakrange.scenario.language import parse
    from leakrange.scenario.matrix import expand
    from leakrange.scenario.unread import unread_decoders

    text = read_scenario(file)
    try:
        checked = parse(text)
        plan = expand(checked)
    except InvalidScenario as error:
        mistakes = error.extra.get("mistakes", [])
        if as_json:
            print_json({"valid": False, "mistakes": mistakes})
            raise typer.Exit(Exit.USAGE) from error
        lines = mistake_lines(file, mistakes)
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint, lines=lines) from error
    counts = {"trials": len(plan.trials), "models": len(plan.models)}
    warnings = unread_decoders(trial.result for trial in plan.trials)
    if as_json:
        print_json({"valid": True, "name": checked.name, **counts, "warnings": warnings})
        return
    note(f"{file}: {checked.name}, {counts['models']} models to train, {counts['trials']} trials")
    for warning in warnings:
        note(f"warning: {warning}")


@scenario.command("schema")
def schema() -> None:
    """Print the JSON schema of scenarios, for editors."""
    from leakrange.scenario.schema import scenario_schema

    print_json(scenario_schema())
