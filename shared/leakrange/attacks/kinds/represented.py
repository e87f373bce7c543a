"""Figures of the features that devices upload, and of the devices that learned to make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leakrange.attacks.kinds.trial import Fitted, Trial, Uploaded
from leakrange.metrics.federated import LocalAdversaries, Proven, Updates
from leakrange.metrics.representation import Represented

__all__ = ["federated", "represented"]


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
