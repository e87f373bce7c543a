"""Fitting: an attack learns from stored releases of labelled samples, and says what others hide."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import Evidence, attacks
from leakrange.store.files import FolderStore, get_array, put_arrays
from leakrange.wire.errors import InvalidInput
from leakrange.wire.jobs import FitJob
from services.attacker.settings import FleetSettings
from services.attacker.spans import span_of
from services.attacker.task import JobContext, fleet_task

__all__ = ["evidence_of", "fit"]


def _stored(settings: FleetSettings, identity: str) -> bool:
    return FolderStore(settings.releases_dir).exists(f"{identity}.npz")


@fleet_task(FitJob, seconds=1800.0, stored=_stored)
def fit(job: FitJob, context: JobContext) -> dict[str, Any]:
    """Fit the attack and store what it infers: ``predicted`` int64 (V,), ``scores`` float32 (V, S)."""
    begun = time.perf_counter()
    kind = attacks[job.attack]
    attack = kind(kind.Parameters.model_validate(job.parameters))
    evidence = evidence_of(job, context.releases)
    _one_thread()
    inference = attack.infer(evidence)
    found: dict[str, NDArray[Any]] = {
        "predicted": inference.predicted.astype(np.int64),
        "scores": inference.scores.astype(np.float32),
    }
    put_arrays(context.releases, f"{job.identity()}.npz", found)
    return {
        "auxiliary": len(evidence.auxiliary),
        "observed": len(evidence.observed),
        "seconds": round(time.perf_counter() - begun, 4),
    }


def _one_thread() -> None:
    """Workers share the cores. Imported here: the process that forks the workers must never have torch."""
    import torch

    torch.set_num_threads(1)


def evidence_of(job: FitJob, store: FolderStore) -> Evidence:
    """What the job's attack is given: the releases it names, and the labels that its threat model grants.

    Raises `NotFound` for releases that are not stored, `InvalidInput` for such as do not fit together.
    """
    data, chosen = span_of(job.span)
    if job.sensitive not in data.attributes:
        raise InvalidInput(
            f"{data.name!r} has no attribute {job.sensitive!r}; it has {sorted(data.attributes)}"
        )
    auxiliary = _joined(store, job.auxiliary)[: job.auxiliary_count]
    labels = data.labels[job.sensitive][chosen][: job.auxiliary_count]
    if len(auxiliary) != len(labels):
        raise InvalidInput(f"{len(auxiliary)} auxiliary releases of {len(labels)} labelled samples")
    known = labels >= 0
    return Evidence(
        auxiliary=auxiliary[known],
        auxiliary_labels=labels[known],
        observed=_joined(store, job.observed),
        classes=len(data.attributes[job.sensitive].classes),
        release=job.release,
        seed=job.seed,
    )


def _joined(store: FolderStore, chunks: list[list[str]]) -> NDArray[np.float32]:
    """Chunks in order, each the mean of its draws: float32 (samples, N). Raises `NotFound` for a missing
    one, `InvalidInput` for such as do not fit together."""
    parts = []
    for draws in chunks:
        arrays = [get_array(store, f"{identity}.npy") for identity in draws]
        if not arrays or len({array.shape for array in arrays}) != 1:
            raise InvalidInput("the draws of a chunk must be at least one, and of one shape")
        parts.append(np.mean(arrays, axis=0, dtype=np.float64).astype(np.float32))
    if len({part.shape[1:] for part in parts}) != 1:
        raise InvalidInput("the chunks of a release must be at least one, and of one width")
    return np.concatenate(parts)
