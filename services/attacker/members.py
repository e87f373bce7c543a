"""What a membership attack of the fleet is given: a model's answers for the records in question, and those of
its own shadow models."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.data import Samples, load
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.jobs.job import Candidates, FitJob
from leakrange.store.files import FolderStore
from leakrange.wire.errors import InvalidInput
from services.attacker.evidence import joined
from services.attacker.spans import span_of

__all__ = ["membership_evidence"]


def membership_evidence(job: FitJob, store: FolderStore) -> MembershipEvidence:
    """What the job's membership attack is given.

    Raises `NotFound` for releases that are not stored, `InvalidInput` for such as do not fit together.
    """
    candidates = job.candidates
    if candidates is None:
        raise InvalidInput(f"attack {job.attack!r} needs records to ask after, and the job names none")
    data, records = span_of(candidates.records)
    observed = joined(store, job.observed)
    if len(observed) != len(records):
        raise InvalidInput(f"{len(observed)} answers for {len(records)} records")
    population, answers = records[:0], observed[:0]
    if job.auxiliary_count:
        answers = joined(store, job.auxiliary)[: job.auxiliary_count]
        population = _population(job, data)
        if len(answers) != len(population):
            raise InvalidInput(f"{len(answers)} answers for a population of {len(population)}")
    asked = data.values[np.concatenate([records, population])]
    released = _shadows(candidates, asked, store, job, observed.shape[1])
    labels = data.labels[candidates.target]
    return MembershipEvidence(
        observed=observed[np.newaxis],
        labels=labels[records],
        shadows=released[:, np.newaxis, : len(records)],
        members=_members(candidates),
        population=answers,
        population_labels=labels[population],
        population_shadows=released[:, len(records) :],
        release=job.release,
    )


def _population(job: FitJob, data: Samples) -> NDArray[np.int64]:
    known, chosen = span_of(job.span)
    if known.fingerprint != data.fingerprint:
        raise InvalidInput("the population is of other data than the records")
    return chosen[: job.auxiliary_count]


def _members(candidates: Candidates) -> NDArray[np.bool_]:
    """Which of the records each shadow was trained on, (K, N)."""
    span = candidates.records
    found = [load(shadow.data).members()[span.start : span.stop] for shadow in candidates.shadows]
    return np.array(found, dtype=bool).reshape(len(found), span.stop - span.start)


def _shadows(
    candidates: Candidates, samples: NDArray[Any], store: FolderStore, job: FitJob, width: int
) -> NDArray[np.float32]:
    """The shadows' releases (K, N, Y) for samples (N, *shape), defended as the attacker knows them to be."""
    released = np.empty((len(candidates.shadows), len(samples), width), dtype=np.float32)
    chain = Chain.parse(candidates.defence)
    for number, shadow in enumerate(candidates.shadows):
        names = [shadow.records] + ([shadow.population] if shadow.population else [])
        plain = joined(store, [[name] for name in names])[: len(samples)]  # a prefix of the population
        if plain.shape != released.shape[1:]:
            raise InvalidInput(f"a shadow's releases are {plain.shape}, the target's {released.shape[1:]}")
        rng = np.random.default_rng([job.seed, number])
        # A proxy's sticky noise has a secret key: an attacker can but have a key, and noise, of its own.
        context = ReleaseContext(
            release=job.release,
            draw=rng,
            sticky_key=rng.bytes(32),
            digests=[hashlib.sha256(sample.tobytes()).digest() for sample in samples],
        )
        draws = [chain.apply(plain, context) for _ in range(candidates.draws)]
        released[number] = np.mean(draws, axis=0, dtype=np.float64)
    return released
