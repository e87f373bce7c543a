"""The plan of an audit, from the options of the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from clients.cli.exits import CliError, Exit
from leakrange.jobs.audit import AuditPlan

if TYPE_CHECKING:
    from leakrange.audit.members import Population

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
    """The plan; raises `CliError` for values that it cannot have."""
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
        given["known"] = {name: found for name, found in scores.items() if found is not None}
    try:
        return AuditPlan.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CliError(f"{where}: {first['msg']}", code=Exit.USAGE) from error


def read_population(path: Path) -> Population:
    """A population that ``audit population`` has written; raises `CliError` for anything else."""
    from leakrange.audit.members import Population

    try:
        return Population.model_validate_json(path.read_bytes())
    except OSError as error:
        raise CliError(f"{path}: {error.strerror}", code=Exit.USAGE) from error
    except ValidationError as error:
        raise CliError(
            f"{path} is no population of known models: {error.error_count()} mistakes",
            code=Exit.USAGE,
            hint="'leakrange audit population' writes one",
        ) from error
