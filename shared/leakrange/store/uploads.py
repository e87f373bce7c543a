"""Stored sessions of uploads, and everything known about a stream of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.metrics import softmax
from leakrange.store.files import ObjectStore, get_array, get_arrays, joined, put_array, put_arrays, whole
from leakrange.wire.digests import digest
from leakrange.wire.releases import ReleaseKind

__all__ = ["put_session", "read_uploads", "reconstructed_as", "session_stored"]


def reconstructed_as(identity: str) -> str:
    """Return the name under which the samples are stored that a provider reconstructed from a session's
    releases. They are large, and only their own judge reads them."""
    return digest(["reconstructed", identity])


def session_stored(releases: ObjectStore, identity: str) -> bool:
    """Return whether all files of a session are stored and readable."""
    if not all(whole(releases, f"{identity}.{kind}") for kind in ("npy", "npz")):
        return False
    samples = "reconstructed" in get_arrays(releases, f"{identity}.npz")
    return not samples or whole(releases, f"{reconstructed_as(identity)}.npy")


def put_session(
    releases: ObjectStore,
    identity: str,
    values: NDArray[np.floating],
    decisions: Sequence[Any] | NDArray[np.int64],
    inferred: tuple[Any, Any] | None = None,
    samples: NDArray[np.floating] | None = None,
) -> None:
    """Store a session: the ``values`` (B, ...) that arrived, the ``decisions`` on them, and the output of the
    provider's decoder: classes and scores, or ``samples``."""
    extra = {"decisions": np.asarray(decisions, dtype=np.int64)}
    if inferred is not None:
        classes, scores = inferred
        extra["inferred"] = np.asarray(classes, dtype=np.int64)
        extra["scores"] = np.asarray(scores, dtype=np.float32)
    if samples is not None:
        put_array(releases, f"{reconstructed_as(identity)}.npy", samples)
        extra["reconstructed"] = np.asarray(samples.shape)
    # The releases are stored last: where they are, the whole session is.
    put_arrays(releases, f"{identity}.npz", extra)
    put_array(releases, f"{identity}.npy", np.asarray(values, dtype=np.float32))


def read_uploads(
    identities: Sequence[str],
    truths: Sequence[Mapping[str, Sequence[int]]],
    release: ReleaseKind,
    heads: Sequence[int],
    releases: ObjectStore,
) -> Uploaded:
    """Read the stream whose uploads were stored under these ``identities``, in order, with the ``truths``
    about their users. ``release`` is what their values are, after all defences. ``heads`` are the numbers of
    classes of what the model is asked for."""
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
        truths=truths,
        decisions=np.concatenate([intake["decisions"] for intake in intakes]),
        inferred=inferred,
        reconstructed=reconstructed,
        soft=soft,
        heads=heads,
        values=int(np.prod(get_array(releases, f"{identities[0]}.npy").shape[1:])),
    )
