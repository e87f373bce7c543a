"""Figures and views beside the guesses of an attribute: the learners of a panel; the features that devices
upload, and their picture in a plane; and the devices that learned to make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.kind import Chunks, ReleaseStore
from leakrange.attacks.kinds.reconstructed import first
from leakrange.attacks.kinds.trial import Fitted, Trial, Uploaded
from leakrange.data.spans import span_of
from leakrange.jobs.samples import Span
from leakrange.metrics import accuracy, mean_auc
from leakrange.metrics.embedding import MOST, embedded
from leakrange.metrics.federated import LocalAdversaries, Proven, Updates
from leakrange.metrics.outcomes import HeldOut
from leakrange.metrics.representation import Represented
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

__all__ = [
    "PANEL",
    "embeddings",
    "federated",
    "first_users",
    "held_out",
    "represented",
    "viewed_embeddings",
    "viewed_panel",
]

PANEL = "panel."
"""The prefix of names of `leakrange.attacks.attack.Inference.panel` among the arrays of a fit."""


def held_out(arrays: Mapping[str, NDArray[Any]]) -> list[HeldOut]:
    """How the chosen learner ranks records that it has not learnt from; nothing where no panel was fitted."""
    if PANEL + "ranks" not in arrays:
        return []
    return [HeldOut(arrays[PANEL + "ranks"], arrays[PANEL + "truth"], arrays.get(PANEL + "group"))]


def viewed_panel(arrays: Mapping[str, NDArray[Any]], truth: NDArray[np.integer]) -> dict[str, Any]:
    """The view "panel": a row for each learner, the chosen one first, of victims whose class is known (V,),
    -1 where not. A learner has no AUC where all victims are of one class."""
    if PANEL + "learner" not in arrays:
        return {}
    known = truth >= 0
    rows = []
    for number, learner in enumerate(arrays[PANEL + "learner"]):
        scores = arrays[PANEL + "scores"][number][known]
        rows.append(
            {
                "learner": str(learner),
                "releases": str(arrays[PANEL + "view"][number]),
                "held_out_auc": float(arrays[PANEL + "area"][number]),
                "auc": mean_auc(scores, truth[known]),
                "accuracy": accuracy(scores.argmax(axis=1), truth[known]),
                "chosen": number == 0,
            }
        )
    return {"panel": rows}


def represented(trial: Trial, uploaded: Uploaded, fitted: Fitted) -> list[Represented]:
    """The results on users' features by a model on top of an extractor; empty unless it has a single
    target."""
    norm = fitted.arrays.get("norm")
    if norm is None or trial.model.recipe.extractor is None or not isinstance(trial.model.target, str):
        return []
    target, hidden = uploaded.truth(trial.model.target), uploaded.truth(trial.hidden)
    known = np.flatnonzero((target >= 0) & (hidden >= 0))
    return [
        Represented(
            target=target[known],
            decided=uploaded.decisions[known],
            hidden=hidden[known],
            guessed=fitted.inference.predicted[known],
            norm=float(norm),
            lipschitz=trial.trained("test").get("head_lipschitz"),
        )
    ]


def federated(trial: Trial) -> list[object]:
    """For each extractor in the users' chain: how many updates counted, how well the adversaries do that it
    was learned against, and what is proven about the devices' data, as far as that is known."""
    results: list[object] = []
    for record in trial.obfuscators():
        if "federation" in record:
            results.append(_updates(record))
            results += _adversaries(record, trial.hidden)
            if proven := record["federation"].get("differential_privacy"):
                results.append(Proven(proven["epsilon"]["server"], proven["epsilon"]["extractor"]))
    return results


def _updates(record: Mapping[str, Any]) -> Updates:
    accepted, refused, lost = (
        int(sum(entry[name] for entry in record["history"])) for name in ("accepted", "refused", "lost")
    )
    return Updates(accepted + refused + lost, refused, lost)


def _adversaries(record: Mapping[str, Any], hidden: str) -> list[LocalAdversaries]:
    figures = record["figures"].get("test", {})
    if f"adversary {hidden}" not in figures:  # they infer something else, or stayed on their devices
        return []
    on_hidden = figures[f"adversary {hidden}"], figures[f"majority {hidden}"]
    return [LocalAdversaries(*on_hidden, figures["adversary_loss"], figures["kept_loss"])]


SEED = 0
"""All trials of the same users have the same picture of their samples."""
PLACES = 2


def first_users(trial: Trial) -> list[Span]:
    """The samples of the sessions that hold the users who are shown; none where users send no features."""
    if trial.model.release != "features":
        return []
    return first(trial.users, trial.users, MOST)


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
