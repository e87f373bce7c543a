"""Fitting: an attack learns from stored releases, and says what others hide or what its own model gives."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.membership.membership import MembershipAttack
from leakrange.attacks.people.membership import PeopleAttack
from leakrange.jobs.job import FitJob
from leakrange.store.files import FolderStore, put_arrays, whole
from services.attacker.distil import student_outputs
from services.attacker.evidence import evidence_of
from services.attacker.members import membership_evidence
from services.attacker.people import people_evidence
from services.attacker.settings import FleetSettings
from services.attacker.task import JobContext, fleet_task

__all__ = ["fit"]


def _stored(settings: FleetSettings, identity: str) -> bool:
    return whole(FolderStore(settings.releases_dir), f"{identity}.npz")


@fleet_task(FitJob, seconds=1800.0, stored=_stored)
def fit(job: FitJob, context: JobContext) -> dict[str, Any]:
    """Fit the attack and store what it infers: ``predicted`` int64 (V,), ``scores`` float32 (V, S).

    Of a user's own model it stores what that decides and releases: ``scores`` are its soft outputs (V, Y). Of
    candidates for membership ``scores`` are (V, 1), and ``predicted`` is -1 throughout; of people there are
    ``places`` int64 (V,) in the pool as well.
    """
    begun = time.perf_counter()
    kind = attacks[job.attack]
    _one_thread()
    places: NDArray[np.int64] | None = None
    if kind.where == "user":
        released = student_outputs(job, context.releases)
        predicted, scores = released.argmax(axis=1), released
    elif issubclass(kind, MembershipAttack):
        attack = kind(kind.Parameters.model_validate(job.parameters))
        found_members = attack.score(membership_evidence(job, context.releases))
        predicted = np.full(len(found_members), -1)
        scores = found_members[:, np.newaxis].astype(np.float32)
    elif issubclass(kind, PeopleAttack):
        told, among = people_evidence(job, context.releases)
        rows, values = kind(kind.Parameters.model_validate(job.parameters)).score(told)
        places, predicted = among[rows], np.full(len(rows), -1)
        scores = values[:, np.newaxis].astype(np.float32)
    else:
        evidence = evidence_of(job, context.releases)
        inference = kind(kind.Parameters.model_validate(job.parameters)).infer(evidence)
        predicted, scores = inference.predicted, inference.scores
    found: dict[str, NDArray[Any]] = {
        "predicted": predicted.astype(np.int64),
        "scores": scores.astype(np.float32),
    }
    if places is not None:
        found["places"] = places.astype(np.int64)
    put_arrays(context.releases, f"{job.identity()}.npz", found)
    return {
        "auxiliary": job.auxiliary_count,
        "observed": len(predicted),
        "seconds": round(time.perf_counter() - begun, 4),
    }


def _one_thread() -> None:
    """Workers share the cores. Imported here: the process that forks the workers must never have torch."""
    import torch

    torch.set_num_threads(1)
