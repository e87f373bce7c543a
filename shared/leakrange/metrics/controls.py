"""The excess of an attack over its control: a guess about the same victims without the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import area_interval, effective_count_of_mean, placements_apart, spread
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.intervals import auc_interval
from leakrange.metrics.membership import area_in_folds
from leakrange.metrics.outcomes import Ranking
from leakrange.metrics.registry import metric
from leakrange.metrics.roc import one_against_rest

__all__ = ["BesideBlind", "BesideImputation", "ByItself", "Controlled", "control_area", "excess"]

UNKNOWN = (0.0, 1.0)
"""The interval of an AUC of which nothing is known."""


@dataclass(frozen=True)
class _Area:
    """An AUC, its 95 % interval, and the contribution of each sample to it (N,)."""

    value: float
    low: float
    high: float
    offsets: NDArray[np.float64]


@dataclass(frozen=True)
class Controlled:
    """The scores of an ``attack``, and those of its ``control`` on the same victims, in the same order."""

    attack: Ranking
    control: Ranking

    @cached_property
    def areas(self) -> tuple[_Area, _Area] | None:
        """The AUCs of both, the control's at least .5. None where one of them has none."""
        attack, control = _area(self.attack), _area(self.control)
        if attack is None or control is None:
            return None
        if control.value <= 0.5 and (control.low, control.high) != UNKNOWN:
            control = _Area(0.5, 0.5, 0.5, np.zeros(len(control.offsets)))
        return attack, control


class BesideImputation(Controlled):
    """An attack on an attribute, with imputation as its control."""


class BesideBlind(Controlled):
    """An attack on membership, with a blind classifier as its control."""


class ByItself:
    """The outcome of a control that is a trial of its own, and no attack."""


def control_area(controlled: Controlled) -> float | None:
    """The AUC of the control, at least .5, since a guess without the model may as well be random. None where
    the attack has no AUC."""
    pair = controlled.areas
    return None if pair is None else pair[1].value


def excess(controlled: Controlled) -> Estimate | None:
    """The AUC of the attack less that of the control, in [-1, 1], with its 95 % interval. None where the
    attack has no AUC.

    The interval is made from those of both AUCs (MOVER: Zou and Donner, Statistics in Medicine 27, 2008). It
    is narrower where the difference over the same victims varies less than that of two independent AUCs
    (DeLong et al., Biometrics 44, 1988; for samples that resemble each other Obuchowski, Biometrics 53,
    1997). So it is the AUC's own interval less .5 where the control knows nothing.
    """
    pair = controlled.areas
    if pair is None:
        return None
    attack, control = pair
    group = np.arange(len(attack.offsets)) if controlled.attack.group is None else controlled.attack.group
    ones = np.ones(group.shape)
    alone = spread(attack.offsets, group, ones) + spread(control.offsets, group, ones)
    paired = np.sqrt(spread(attack.offsets - control.offsets, group, ones) / alone) if alone else 1.0
    value = attack.value - control.value
    low = value - paired * np.hypot(attack.value - attack.low, control.high - control.value)
    high = value + paired * np.hypot(attack.high - attack.value, control.value - control.low)
    return Estimate.within(value, (max(float(low), -1.0), min(float(high), 1.0)))


def _area(ranking: Ranking) -> _Area | None:
    """The AUC as `leakrange.metrics.trial.auc` gives it: of several classes the mean, to which a class adds
    one half where a fold has no samples of it; of a single class nothing is then known, and the interval is
    everything. None where all samples are of one class."""
    scores = ranking.scores if ranking.scores.ndim == 2 else np.stack([-ranking.scores, ranking.scores], 1)
    decided = one_against_rest(scores, ranking.truth.astype(int))
    if not decided:
        return None
    fold = np.zeros(len(scores), dtype=int) if ranking.fold is None else ranking.fold
    _, index, samples = np.unique(fold, return_inverse=True, return_counts=True)
    values, offsets, lacking = [], np.zeros(len(scores)), False
    for ranks, positive in decided:
        in_class = np.bincount(index[positive], minlength=len(samples))
        if ((in_class == 0) | (in_class == samples)).any():
            values.append(0.5)
            lacking = True
            continue
        values.append(area_in_folds(ranks, positive, ranking.fold))
        each = placements_apart(ranks, positive, fold)
        for side in (positive, ~positive):  # sample variances, as DeLong has them
            each[side] *= np.sqrt(side.sum() / max(side.sum() - 1, 1))
        offsets += each / len(decided)
    value = float(np.mean(values))
    if len(decided) == 1:
        interval = UNKNOWN if lacking else area_interval(value, *decided[0], ranking.group, ranking.fold)
    else:
        count = effective_count_of_mean(scores, ranking.truth.astype(int), ranking.group)
        interval = auc_interval(value, count, count) if count else UNKNOWN
    return _Area(value, *interval, offsets)


metric(
    "control", measures=ByItself, title="control", unit="number", role="context", rank=43,
    equation="1 of what guesses without the model, beside which attacks are read",
)(lambda _: 1.0)  # fmt: skip

_KNOWN = "without the model, of the same victims; .5 where it is less"
for _measures, _name, _title, _how, _claim in (
    (
        BesideImputation, "imputation", "imputation",
        f"AUC of guessing by the true label, the decision and what else is public, {_KNOWN}",
        "what the true label tells already",
    ),
    (
        BesideBlind, "blind", "blind classifier",
        f"AUC of telling members from others by the records themselves, {_KNOWN}",
        "what a classifier without the model tells",
    ),
):  # fmt: skip
    metric(
        f"{_name}_auc", measures=_measures, title=f"AUC of {_title}", unit="score", role="context", rank=41,
        chance=0.5, equation=_how,
    )(control_area)  # fmt: skip
    metric(
        f"beyond_{_name}", measures=_measures, title=f"AUC beyond {_title}", unit="score", role="leakage",
        rank=42, chance=0.0, lowest=-1.0, equation=f"AUC − AUC of the control ({_title}) on the same victims",
        interval="over victims, or over groups of them, paired (DeLong; Obuchowski; Zou and Donner)",
        claim=_claim,
    )(excess)  # fmt: skip
