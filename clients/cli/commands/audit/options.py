"""The options that both commands share, and the plan of an audit that they make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file, settings_of
from leakrange.jobs.audit import AuditPlan

if TYPE_CHECKING:
    from leakrange.audit.members import ModelPopulation

__all__ = [
    "TESTS",
    "Changed",
    "Data",
    "Labelled",
    "Limit",
    "Seed",
    "Sensitive",
    "Size",
    "Tested",
    "planned",
    "read_population",
]

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

TESTS = ("viciousness", "entropy")
"""What is tested without being asked for."""


def planned(
    *,
    data: str,
    size: int | None,
    limit: int | None,
    labelled: int,
    test: int,
    sensitive: str | None,
    seed: int,
    changed: list[str] | None,
    population: Path | None = None,
    tests: Sequence[str] = TESTS,
) -> AuditPlan:
    """Return the plan; raises `CliError` for invalid values."""
    settings: dict[str, Any] = {**settings_of(changed or [])}
    if "optimiser" in settings:
        settings["optimiser"] = {"name": settings["optimiser"]}
    given: dict[str, Any] = {
        "data": {"name": data, "size": size, "limit": limit},
        "labelled": labelled,
        "test": test,
        "tests": [*tests, *(["curiosity"] if sensitive else [])],
        "sensitive": sensitive,
        "viciousness": settings,
        "seed": seed,
    }
    if population is not None:
        there = read_population(population)
        scores = {name: there.known(name) for name in there.plan.tests}
        given["known"] = {name: score for name, score in scores.items() if score is not None}
    try:
        return AuditPlan.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CliError(f"{where}: {first['msg']}", code=Exit.USAGE) from error


def read_population(path: Path) -> ModelPopulation:
    """Read a population that ``audit population`` has written; raises `CliError` for anything else."""
    from leakrange.audit.members import ModelPopulation

    try:
        return ModelPopulation.model_validate_json(read_file(path))
    except ValidationError as error:
        raise CliError(
            f"{path} is no population of known models: {error.error_count()} mistakes",
            code=Exit.USAGE,
            hint="'leakrange audit population' writes one",
        ) from error
