"""What an attack of the fleet is given: the releases that its job names, and the labels that its threat model
grants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import Evidence
from leakrange.jobs.job import FitJob
from leakrange.store.files import FolderStore, get_array
from leakrange.wire.errors import InvalidInput
from services.attacker.spans import span_of

__all__ = ["evidence_of", "joined"]


def evidence_of(job: FitJob, store: FolderStore) -> Evidence:
    """What the job's attack is given: the releases it names, and the labels that its threat model grants.

    Raises `NotFound` for releases that are not stored, `InvalidInput` for such as do not fit together.
    """
    data, chosen = span_of(job.span)
    if job.sensitive not in data.attributes:
        raise InvalidInput(
            f"{data.name!r} has no attribute {job.sensitive!r}; it has {sorted(data.attributes)}"
        )
    auxiliary = joined(store, job.auxiliary)[: job.auxiliary_count]
    labels = data.labels[job.sensitive][chosen][: job.auxiliary_count]
    if len(auxiliary) != len(labels):
        raise InvalidInput(f"{len(auxiliary)} auxiliary releases of {len(labels)} labelled samples")
    known = labels >= 0
    return Evidence(
        auxiliary=auxiliary[known],
        auxiliary_labels=labels[known],
        observed=joined(store, job.observed),
        classes=len(data.attributes[job.sensitive].classes),
        release=job.release,
        seed=job.seed,
    )


def joined(store: FolderStore, chunks: list[list[str]]) -> NDArray[np.float32]:
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
