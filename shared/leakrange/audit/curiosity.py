"""The curiosity audit (HBC Section 6.1): an examiner with samples of a sensitive attribute measures how much
of it a model's outputs tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Evidence
from leakrange.attacks.attribute_inference import AttributeInference, AttributeInferenceParameters
from leakrange.attacks.controls import imputed
from leakrange.metrics import Estimate, accuracy, majority_share
from leakrange.metrics.controls import BesideImputation, control_area, excess
from leakrange.metrics.outcomes import Ranking
from leakrange.metrics.trial import auc
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind

__all__ = ["Curiosity", "curiosity"]


@dataclass(frozen=True)
class Curiosity:
    """Accuracy with which an attack reads the attribute from ``tested`` outputs, beside that of the
    decisions.

    auc: of the attack's scores; of more than two classes the mean of one against the rest. by_decision: that
    of guessing by the model's decisions alone, at least .5. beyond: the first less the second, in [-1, 1],
    with its paired 95 % interval (`leakrange.metrics.controls.excess`): what a target has to do with the
    attribute is no curiosity. constant: whether the attack gave everybody the same score, so that nothing
    follows. accuracy: the share of right guesses, and majority: the share of the attribute's most frequent
    class, both of the tested samples.
    """

    auc: float
    by_decision: float
    beyond: Estimate
    constant: bool
    accuracy: float
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
    groups: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None] = (None, None),
) -> Curiosity:
    """Fit the attack `AttributeInference` on ``outputs`` (K, N) of samples whose attribute is ``sensitive``
    (K,), and apply it to the ``tested`` outputs (M, N) with attribute ``truth`` (M,).

    ``decisions`` are the model's for both: whole numbers (K,) and (M,), equal where the model decides the
    same. ``groups`` (K,) and (M,) name the groups of samples that resemble each other. Raises `InvalidInput`
    for too few samples, tested samples of a single class, and labels that are no classes.
    """
    if len(np.unique(truth)) < 2:
        raise InvalidInput(
            f"the {len(truth)} samples to test on have no two classes of that attribute",
            hint="test on more samples, or look for another attribute",
        )
    attack = AttributeInference(AttributeInferenceParameters(sensitive="sensitive"))
    evidence = Evidence(
        auxiliary=outputs,
        auxiliary_labels=sensitive,
        observed=tested,
        classes=classes,
        release=release,
        seed=seed,
        auxiliary_group=groups[0],
    )
    inference = attack.infer(evidence)
    ranking = _ranking(inference.scores, truth, groups[1])
    count = len(sensitive)
    by_decision = imputed(
        [np.concatenate(decisions)],
        np.concatenate([sensitive, truth]),
        classes,
        np.repeat([0, 1], [count, len(truth)]),  # the tested are guessed from the labelled
    )[count:]
    controlled = BesideImputation(ranking, Ranking(by_decision, truth, groups[1]))
    beyond, control = excess(controlled), control_area(controlled)
    assert beyond is not None
    assert control is not None
    return Curiosity(
        auc=control + beyond.value,
        by_decision=control,
        beyond=beyond,
        constant=ranking.constant,
        accuracy=accuracy(inference.predicted, truth),
        majority=majority_share(truth, classes),
        labelled=count,
        tested=len(truth),
    )


def _ranking(
    scores: NDArray[np.float32], truth: NDArray[np.int64], group: NDArray[np.int64] | None
) -> Ranking:
    """The scores (M, classes) beside the truth. Two scores that reliably rank people the wrong way round tell
    as much as others: they are exchanged."""
    ranking = Ranking(scores, truth, group)
    area = auc(ranking)
    reversed_ranks = isinstance(area, Estimate) and area.high is not None and area.high < 0.5
    return Ranking(scores[:, ::-1], truth, group) if scores.shape[1] == 2 and reversed_ranks else ranking
