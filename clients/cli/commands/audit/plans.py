"""The plan of an audit, from the options of the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.jobs.audit import AuditPlan

if TYPE_CHECKING:
    from leakrange.audit.members import ModelPopulation

__all__ = ["planned", "read_population"]

TESTS = ["viciousness", "entropy"]


def planned(
    *,
    data: str,
    size: int | None,
    limit: int | None,
    labelled: int,
    test: int,
    sensitive: str | None,
    seed: int,
    changed: list[str],
    population: Path | None = None,
) -> AuditPlan:
    """Return the plan; raises `CliError` for invalid values."""
    settings: dict[str, Any] = {}
    for one in changed:
        name, equals, value = one.partition("=")
        if not equals:
            raise CliError(f"--set {one}: write NAME=VALUE", code=Exit.USAGE)
        settings[name] = {"name": value} if name == "optimiser" else value
    given: dict[str, Any] = {
        "data": {"name": data, "size": size, "limit": limit},
        "labelled": labelled,
        "test": test,
        "tests": [*TESTS, *(["curiosity"] if sensitive else [])],
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
        return ModelPopulation.model_validate_json(path.read_bytes())
    except OSError as error:
        raise CliError(f"{path}: {error.strerror}", code=Exit.USAGE) from error
    except ValidationError as error:
        raise CliError(
            f"{path} is no population of known models: {error.error_count()} mistakes",
            code=Exit.USAGE,
            hint="'leakrange audit population' writes one",
        ) from error
