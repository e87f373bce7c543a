"""What an attack on people is given: a service's answers about them, and whose membership is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.membership import PeopleEvidence
from leakrange.attacks.people.questions import asked_pairs
from leakrange.data import Samples
from leakrange.jobs.job import Asked, FitJob
from leakrange.jobs.recipe import Crowd
from leakrange.store.files import FolderStore
from leakrange.wire.errors import InvalidInput
from services.attacker.evidence import joined
from services.attacker.spans import span_of

__all__ = ["people_evidence"]


def people_evidence(job: FitJob, store: FolderStore) -> tuple[PeopleEvidence, NDArray[np.int64]]:
    """What the job's attack is given, and for each of its answers a place (N,) in the crowd's pool.

    Raises `NotFound` for releases that are not stored, `InvalidInput` for such as do not fit together.
    """
    asked, crowd = job.asked, job.span.data.crowd
    if asked is None or crowd is None:
        raise InvalidInput(f"attack {job.attack!r} needs people to ask after, and the job names none")
    data, _ = span_of(job.span)
    releases = joined(store, job.observed)[: asked.count]
    lessons = joined(store, job.auxiliary)[: asked.count] if job.auxiliary_count else releases
    if len(releases) != asked.count or len(lessons) != asked.count:
        raise InvalidInput(f"{len(releases)} and {len(lessons)} answers to {asked.count} questions")
    places = asked_pairs(crowd, asked.count)[:, 0] if job.release == "score" else np.arange(asked.count)
    evidence = PeopleEvidence(
        releases=releases,
        lessons=lessons,
        person=places % crowd.asked,
        membership=_granted(data, crowd, asked),
        release=job.release,
        seed=job.seed,
    )
    return evidence, places


def _granted(data: Samples, crowd: Crowd, asked: Asked) -> NDArray[np.int64]:
    """The membership of the first ``known`` members and others of the pool, −1 for all others."""
    member = data.members()[: crowd.asked]
    granted = np.full(len(member), -1)
    for kind in (True, False):
        granted[np.flatnonzero(member == kind)[: asked.known]] = int(kind)
    return granted
