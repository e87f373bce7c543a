"""Everything known about a stream of uploads, once all of it was received."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.store.files import FileStore, get_arrays
from services.controller.range.journal import Journal

__all__ = ["read_uploads"]


async def read_uploads(identities: Sequence[str], journal: Journal, releases: FileStore) -> Uploaded:
    """The stream whose uploads were stored under these ``identities``, in order."""
    truths = [await journal.truth(identity) for identity in identities]
    intakes = [get_arrays(releases, f"{identity}.npz") for identity in identities]
    inferred = None
    if all("inferred" in intake for intake in intakes):
        inferred = Inference(
            np.concatenate([intake["inferred"] for intake in intakes]),
            np.concatenate([intake["scores"] for intake in intakes]),
        )
    return Uploaded(
        truths=[labels for labels, _ in truths],
        decisions=np.concatenate([intake["decisions"] for intake in intakes]),
        inferred=inferred,
    )
