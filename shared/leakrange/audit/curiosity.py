"""The curiosity audit (HBC Section 6.1): what a model's outputs tell of a sensitive attribute, found out by
an examiner who has samples with that attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Evidence
from leakrange.attacks.attribute_inference import AttributeInference, AttributeInferenceParameters
from leakrange.metrics import accuracy, majority_share, share_interval
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind

__all__ = ["Curiosity", "curiosity"]


@dataclass(frozen=True)
class Curiosity:
    """How well an attack reads the attribute from ``tested`` outputs: ``accuracy`` in [0, 1], with its 95 %
    interval (`leakrange.metrics.clusters.share_interval`).

    ``baseline`` is what the model's decisions alone tell, or the attribute's majority, whichever is more.
    What a target has to do with the attribute is no curiosity. ``majority`` is the share of the attribute's
    most frequent class among the tested samples.
    """

    accuracy: float
    interval: tuple[float, float]
    baseline: float
    majority: float
    labelled: int
    tested: int


def curiosity(
    outputs: NDArray[np.float32],
    sensitive: NDArray[np.int64],
    tested: NDArray[np.float32],
    truth: NDArray[np.int64],
    *,
    classes: int,
    decisions: tuple[NDArray[np.int64], NDArray[np.int64]],
    release: ReleaseKind,
    seed: int,
    group: NDArray[np.integer] | None = None,
) -> Curiosity:
    """Fit the attack `AttributeInference` on ``outputs`` (K, N) of samples whose attribute is ``sensitive``
    (K,), and apply it to the ``tested`` outputs (M, N) with attribute ``truth`` (M,).

    ``decisions`` are the model's for both: whole numbers (K,) and (M,), equal where the model decides the
    same. ``group`` (M,) tells tested samples that resemble each
    other. Raises `InvalidInput` for too few samples, or labels that are no classes.
    """
    if not len(truth):
        raise InvalidInput("no sample to test on has that attribute")
    attack = AttributeInference(AttributeInferenceParameters(sensitive="sensitive"))
    evidence = Evidence(
        auxiliary=outputs,
        auxiliary_labels=sensitive,
        observed=tested,
        classes=classes,
        release=release,
        seed=seed,
    )
    predicted = attack.infer(evidence).predicted
    by_decision = _most_frequent(decisions[0], sensitive, classes)
    usual = int(np.bincount(sensitive, minlength=classes).argmax())
    guessed = np.array([by_decision.get(int(each), usual) for each in decisions[1]])
    majority = majority_share(truth, classes)
    return Curiosity(
        accuracy=accuracy(predicted, truth),
        interval=share_interval(predicted == truth, group),
        baseline=max(majority, accuracy(guessed, truth)),
        majority=majority,
        labelled=len(sensitive),
        tested=len(truth),
    )


def _most_frequent(
    decisions: NDArray[np.int64], sensitive: NDArray[np.int64], classes: int
) -> dict[int, int]:
    """The attribute's most frequent class among the samples of each decision."""
    return {
        int(each): int(np.bincount(sensitive[decisions == each], minlength=classes).argmax())
        for each in np.unique(decisions)
    }
