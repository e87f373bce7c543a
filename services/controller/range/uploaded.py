"""Everything known about a stream of uploads, once all of it was received."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.metrics import softmax
from leakrange.store.files import FolderStore, get_array, get_arrays, joined, whole
from leakrange.wire.digests import digest
from leakrange.wire.releases import ReleaseKind
from services.controller.range.journal import Journal


def reconstructed_as(identity: str) -> str:
    """The name under which the samples are stored that a provider reconstructed from a session's releases.
    They are large, and only their own judge reads them."""
    return digest(["reconstructed", identity])


def session_stored(releases: FolderStore, identity: str) -> bool:
    """Whether everything of a session is stored, and can be read."""
    if not all(whole(releases, f"{identity}.{kind}") for kind in ("npy", "npz")):
        return False
    samples = "reconstructed" in get_arrays(releases, f"{identity}.npz")
    return not samples or whole(releases, f"{reconstructed_as(identity)}.npy")


async def read_uploads(
    identities: Sequence[str],
    release: ReleaseKind,
    heads: Sequence[int],
    journal: Journal,
    releases: FolderStore,
) -> Uploaded:
    """The stream whose uploads were stored under these ``identities``, in order. ``release`` is what their
    values are, after all defences. ``heads`` are the numbers of classes of what the model is asked for."""
    truths = [await journal.truth(identity) for identity in identities]
    intakes = [get_arrays(releases, f"{identity}.npz") for identity in identities]
    inferred = None
    if all("inferred" in intake for intake in intakes):
        inferred = Inference(
            np.concatenate([intake["inferred"] for intake in intakes]),
            np.concatenate([intake["scores"] for intake in intakes]),
        )
    reconstructed: list[str] | None = None
    if all("reconstructed" in intake for intake in intakes):
        reconstructed = [reconstructed_as(identity) for identity in identities]
    soft: NDArray[np.floating] | None = None
    if release in ("logits", "softmax"):
        soft = joined(releases, [[identity] for identity in identities])
        soft = softmax(soft, heads) if release == "logits" else soft
    return Uploaded(
        truths=[labels for labels, _ in truths],
        decisions=np.concatenate([intake["decisions"] for intake in intakes]),
        inferred=inferred,
        reconstructed=reconstructed,
        soft=soft,
        heads=heads,
        values=int(np.prod(get_array(releases, f"{identities[0]}.npy").shape[1:])),
    )
