"""The view "embedding": users' features in a plane beside their samples, by the class that is hidden (TAPPFL,
Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.kind import Chunks, ReleaseStore
from leakrange.attacks.kinds.reconstructed import first
from leakrange.attacks.kinds.trial import Trial
from leakrange.data.spans import span_of
from leakrange.jobs.samples import Span
from leakrange.metrics.embedding import MOST, embedded
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

__all__ = ["embeddings", "first_users", "viewed_embeddings"]

SEED = 0
"""All trials of the same users have the same picture of their samples."""
PLACES = 2


def first_users(trial: Trial) -> list[Span]:
    """The samples of the sessions that hold the users who are shown; none where users send no features."""
    if trial.model.release != "features":
        return []
    return first(trial.users, [span.stop - span.start for span in trial.users], MOST)


def embeddings(
    users: list[Span], chunks: Chunks, observed: NDArray[np.float32], releases: ReleaseStore
) -> dict[str, NDArray[Any]]:
    """The planes (E, 2) of the first users' ``observed`` releases (V, ...), which are stored as ``chunks``,
    and of their samples: "released" and "samples", as far as there is something to see.

    Both are made once for all attacks that read them. Raises `InvalidInput` where ``users`` have fewer
    samples than releases.
    """
    if not users:
        return {}
    count = min(len(observed), MOST)

    def plane(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        points = embedded(values, SEED)
        return {} if points is None else {name: points}

    def samples() -> dict[str, NDArray[Any]]:
        shown = np.concatenate([_scaled(span) for span in users])[:count]
        if len(shown) != count:
            raise InvalidInput(f"{len(observed)} releases of {len(shown)} users")
        return plane("samples", shown)

    spans = [span.model_dump(mode="json") for span in users]
    planes: dict[str, NDArray[Any]] = {}
    for name, make in (
        (digest(["embedding", chunks, count]), lambda: plane("released", observed[:count])),
        (digest(["embedding", spans, count]), samples),
    ):
        planes |= releases.once(name, make)
    return planes


def viewed_embeddings(arrays: Mapping[str, NDArray[Any]], truth: NDArray[np.integer]) -> dict[str, Any]:
    """The view of the planes of the first users, whose hidden classes are ``truth`` (V,): their "classes",
    and a point for each in "released" and in "samples"; without users whose class is unknown. Empty where
    there are no planes."""
    planes = {name: arrays[name] for name in ("samples", "released") if name in arrays}
    if "released" not in planes:
        return {}
    known = np.flatnonzero(truth[: len(planes["released"])] >= 0)
    points = {name: np.round(plane[known].astype(float), PLACES).tolist() for name, plane in planes.items()}
    return {"embedding": {"classes": truth[known].tolist(), **points}}


def _scaled(span: Span) -> NDArray[np.float32]:
    """The samples of a span as nets see them, flattened."""
    data, chosen = span_of(span)
    scale, offset = (np.asarray(each, dtype=np.float32) for each in (data.spec.scale, data.spec.offset))
    values: NDArray[np.float32] = data.values[chosen].astype(np.float32) / scale + offset
    return values.reshape(len(values), -1)
