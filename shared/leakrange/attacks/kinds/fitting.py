"""Fitting an attack: from a job to the arrays that its kind makes of the evidence."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.jobs.steps.fit import FitJob
from leakrange.wire.errors import InvalidInput

__all__ = ["fit_attack"]


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
