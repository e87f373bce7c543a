"""Fitting: an attack learns on the releases that it could query, and says what it thinks of the users'
ones.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import Evidence, attacks
from leakrange.data import load
from leakrange.store.files import FileStore, get_array, put_arrays
from leakrange.wire.errors import InvalidInput
from leakrange.wire.jobs import FitJob
from services.attacker.probe import samples_of
from services.attacker.work import Work, fleet_task

__all__ = ["fit"]


def _stored(work: Work[FitJob]) -> bool:
    return work.releases.exists(f"{work.identity}.npz")


@fleet_task("fit", FitJob, stored=_stored)
def fit(work: Work[FitJob]) -> dict[str, Any]:
    """Fit the attack and store ``predicted`` (V,) and ``scores`` (V, S) of the users' releases."""
    job = work.job
    attack_type = attacks[job.attack]
    attack = attack_type(attack_type.Parameters.model_validate(job.parameters))
    images = load(job.span.data)
    labels = images.labels[job.sensitive][samples_of(job.span)][: job.auxiliary_count]
    auxiliary = _releases(work.releases, job.auxiliary)[: job.auxiliary_count]
    if len(auxiliary) < len(labels):
        raise InvalidInput(f"{len(auxiliary)} releases are stored for {len(labels)} auxiliary records")
    known = labels >= 0
    evidence = Evidence(
        auxiliary=auxiliary[: len(labels)][known],
        auxiliary_labels=labels[known],
        observed=_releases(work.releases, job.observed),
        classes=len(images.attributes[job.sensitive].classes),
        release=job.release,
        seed=job.seed,
    )
    begun = time.monotonic()
    inference = attack.infer(evidence)
    put_arrays(
        work.releases,
        f"{work.identity}.npz",
        {"predicted": inference.predicted, "scores": inference.scores},
    )
    return {"auxiliary": int(known.sum()), "seconds": round(time.monotonic() - begun, 3)}


def _releases(store: FileStore, chunks: list[list[str]]) -> NDArray[np.float32]:
    """Stored releases, joined in order; where a chunk has several draws, their mean."""
    joined = [
        np.mean([get_array(store, f"{draw}.npy") for draw in draws], axis=0, dtype=np.float64)
        for draws in chunks
    ]
    return np.concatenate(joined).astype(np.float32)
