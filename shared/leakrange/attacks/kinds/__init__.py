"""Kinds of attack by name, and the fit of an attack by its kind.

Planner, fleet, controller and report use a kind only through the interface `Kind`. So a new kind of attack is
one module here, or in a package of the user's own, and the attack itself.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds.kind import Kind, ReleaseStore
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Metric, described
from leakrange.registry import Registry
from leakrange.wire.errors import InvalidInput

__all__ = ["Kind", "fit_attack", "kind_of", "kinds", "leakage_of"]

kinds: Registry[type[Kind]] = Registry("kind of attack", "leakrange.attacks.kinds")


def kind_of(attack: type[Attack]) -> Kind:
    """The kind of an attack. Raises `UnknownName` where no kind has the name that the attack gives."""
    return kinds[attack.kind]()


def leakage_of(kind: str) -> Metric:
    """The name of the main leakage metric of that kind of attack; for a kind that is no longer installed, a
    name that no trial has."""
    entry = kinds.get(kind)
    return described(kind if entry is None else entry.leakage)


def fit_attack(job: FitJob, releases: ReleaseStore) -> dict[str, NDArray[Any]]:
    """Return the arrays by name that `Kind.infer` makes of the job's evidence. Raises what that raises, and
    `InvalidInput` for evidence of another form, `Conflict` for an attack of another version."""
    job.check_versions()
    entry = attacks[job.attack]
    kind = kind_of(entry)
    try:
        evidence = kind.Evidence.model_validate(job.evidence)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(
            f"attack {job.attack!r} cannot use the job's evidence: {where}: {first['msg']}",
            hint="is the worker of another version than the controller?",
        ) from error
    attack = entry(entry.Parameters.model_validate(job.parameters))
    return kind.infer(attack, evidence, job, releases)
