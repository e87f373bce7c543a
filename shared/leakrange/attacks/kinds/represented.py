"""What a trial tells of features that devices upload, and of the devices that learned to make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leakrange.attacks.kinds.trial import Fitted, Trial, Uploaded
from leakrange.metrics.federated import LocalAdversaries, Proven, Updates
from leakrange.metrics.representation import Represented

__all__ = ["federated", "represented"]


def represented(trial: Trial, uploaded: Uploaded, found: Fitted) -> list[Represented]:
    """What a model that stands on an extractor makes of users' features; of one target alone."""
    norm = found.arrays.get("norm")
    if norm is None or trial.model.recipe.extractor is None or not isinstance(trial.model.target, str):
        return []
    target, hidden = uploaded.truth(trial.model.target), uploaded.truth(trial.hidden)
    known = np.flatnonzero((target >= 0) & (hidden >= 0))
    return [
        Represented(
            target=target[known],
            decided=uploaded.decisions[known],
            hidden=hidden[known],
            guessed=found.inference.predicted[known],
            norm=float(norm),
            lipschitz=trial.trained("test").get("head_lipschitz"),
        )
    ]


def federated(trial: Trial) -> list[object]:
    """Of each extractor in the users' chain: how many updates counted, how the adversaries fare that it was
    learned against, and what is proven of the devices' data, as far as that is known."""
    found: list[object] = []
    for record in trial.obfuscators():
        if "federation" in record:
            found.append(_updates(record))
            found += _adversaries(record, trial.hidden)
            if proven := record["federation"].get("differential_privacy"):
                found.append(Proven(proven["epsilon"]["server"], proven["epsilon"]["extractor"]))
    return found


def _updates(record: Mapping[str, Any]) -> Updates:
    accepted, refused, lost = (
        int(sum(entry[name] for entry in record["history"])) for name in ("accepted", "refused", "lost")
    )
    return Updates(accepted + refused + lost, refused, lost)


def _adversaries(record: Mapping[str, Any], hidden: str) -> list[LocalAdversaries]:
    told = record["figures"].get("test", {})
    if f"adversary {hidden}" not in told:  # they are after something else, or stayed on their devices
        return []
    own = told[f"adversary {hidden}"], told[f"majority {hidden}"]
    return [LocalAdversaries(*own, told["adversary_loss"], told["kept_loss"])]
