"""``audit population``: how often the tests err, on models whose behaviour is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakrange.clients.cli.commands.audit.options import (
    Changed,
    Data,
    Labelled,
    Limit,
    Seed,
    Sensitive,
    Size,
    Tested,
    planned,
    read_population,
)
from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidArtifact, InvalidInput

if TYPE_CHECKING:
    from leakrange.audit.members import ModelPopulation
    from leakrange.audit.population import ErrorRates, Rate

__all__ = ["population"]

RECORD = "training.json"


def population(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="trained models, as a range keeps them in 'models'")
    ],
    data: Data,
    target: Annotated[
        Path, typer.Option("--out", help="write the population here, as JSON; an existing file is continued")
    ],
    size: Size = None,
    limit: Limit = None,
    labelled: Labelled = 500,
    test: Tested = 1000,
    sensitive: Sensitive = None,
    seed: Seed = 0,
    changed: Changed = None,
    as_json: AsJson = False,
) -> None:
    """Audit every trained model in FOLDER that is for this data set, and tell how often the tests err."""
    plan = planned(
        data=data,
        size=size,
        limit=limit,
        labelled=labelled,
        test=test,
        sensitive=sensitive,
        seed=seed,
        changed=changed,
    )
    import torch

    from leakrange.audit.members import ModelPopulation, member_of

    torch.set_num_threads(1)
    audited = read_population(target) if target.exists() else ModelPopulation(plan=plan)
    if audited.plan != plan:
        raise CliError(
            f"{target} was made by another plan", code=Exit.USAGE, hint="write another file with --out"
        )
    done = {member.artifact for member in audited.members}
    for place in sorted(record.parent for record in folder.glob(f"*/{RECORD}")):
        if place.name in done:
            continue
        try:
            member = member_of(place, plan)
        except (InvalidArtifact, InvalidInput) as error:
            note(f"{place.name[:12]} is left out: {error.detail}")
            continue
        audited.members.append(member)
        _write(audited, target)
        note(f"{place.name[:12]} {member.groups['behaviour']}: {member.scores}")
    if not audited.members:
        raise CliError(f"{folder} holds no model that {data!r} can audit", code=Exit.USAGE)
    if as_json:
        print_json(audited)
    else:
        _show(audited)


def _write(audited: ModelPopulation, target: Path) -> None:
    """Write the population, whole or not at all."""
    with room_in(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.new")
        beside.write_text(audited.model_dump_json(indent=1), encoding="utf-8")
        beside.replace(target)


def _show(audited: ModelPopulation) -> None:
    rows: list[tuple[Any, ...]] = []
    for test in audited.plan.tests:
        if (rates := audited.rates(test)) is None:
            continue
        whole, groups = rates
        rows.append((test, "all", *_cells(whole)))
        for name, values in groups.items():
            rows += [(test, f"{name} {value}", *_cells(each)) for value, each in values.items()]
    columns = (
        "test",
        "models",
        "false alarms",
        "found",
        "AUC (95 %)",
        "5 % false alarms above",
        "found there",
    )
    print_table(columns, rows, empty="no test was made")


def _cells(rates: ErrorRates) -> tuple[str, ...]:
    low, high = rates.auc_interval or (0.0, 1.0)
    return (
        _rate(rates.false_alarms),
        _rate(rates.detected),
        "" if rates.auc is None else f"{rates.auc:.3f} ({low:.3f} to {high:.3f})",
        "" if rates.allowing_threshold is None else f"{rates.allowing_threshold:.4f}",
        "" if rates.allowing_detected is None else _rate(rates.allowing_detected),
    )


def _rate(rate: Rate) -> str:
    return f"{rate.count} of {rate.of}" if rate.of else ""
