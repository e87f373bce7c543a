"""Intervals of figures of samples that resemble each other, as several pictures of one person do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.intervals import Z95, student_interval, wilson_interval

__all__ = ["WILSON", "cluster_count", "effective_counts", "mean_interval", "share_interval", "share_of"]

WILSON = "over samples, or over groups of them (Wilson; Korn and Graubard)"
"""How the interval of a share is made: see `share_interval`."""
Groups = NDArray[np.integer]


def cluster_count(group: Groups) -> int:
    """How many different groups there are in ``group`` (N,), or (N, 2) of pairs."""
    return len(np.unique(group))


def share_of(right: NDArray[np.bool_] | NDArray[np.floating], group: Groups | None) -> tuple[float, float]:
    """The share of samples that are ``right`` (N,), or the mean of the right part of each, and of how many
    independent samples it tells as much.

    Without a ``group`` (N,) all N are independent. With (N, 2) each sample is a pair, and pairs that have a
    group in common resemble each other. N is divided by the design effect, the variance of the share when
    groups are drawn over that when samples are (Kish 1965, Section 5.4), and, where a group has several
    samples, by the square of t/z, since C groups give a variance of C − 1 degrees of freedom (Korn and
    Graubard, Survey Methodology 24, 1998). Where all samples are right, or none is, a group counts as one.
    Raises `ValueError` for no samples, or groups that do not fit.
    """
    if not len(right) or (group is not None and len(group) != len(right)):
        raise ValueError("a share is of one sample or more, each with its group")
    share = float(np.mean(right))
    if group is None:
        return share, float(len(right))
    count, groups = float(len(right)), cluster_count(group)
    if groups == len(right) and group.ndim == 1:
        return share, count
    from scipy.special import stdtrit  # here, since not all who import this module have SciPy

    effective = _effective(np.asarray(right, dtype=np.float64) - share, group)
    freedom = groups - 1
    return share, effective * float(Z95 / stdtrit(freedom, 0.975)) ** 2 if freedom else 0.0


def share_interval(
    right: NDArray[np.bool_] | NDArray[np.floating], group: Groups | None = None
) -> tuple[float, float]:
    """The 95 % interval of the share of samples that are ``right``: Wilson's, of as many samples as
    `share_of` says; 0 to 1 where all are of one group. Raises as `share_of`."""
    share, count = share_of(right, group)
    return wilson_interval(share * count, count) if count else (0.0, 1.0)


def mean_interval(values: NDArray[np.floating], group: Groups | None = None) -> tuple[float, float] | None:
    """The 95 % interval of the mean of ``values`` (N,) by Student's t, of one sample or group the less than
    there are; None where there is but one. ``group`` as in `share_of`; where groups vary less than samples
    would, they count as such."""
    mean, samples = float(np.mean(values)), len(values)
    groups = samples if group is None else cluster_count(group)
    if min(groups, samples) < 2:
        return None
    deviation = float(np.std(values, ddof=1))
    if group is None or groups == samples:
        return student_interval(mean, deviation, samples)
    effective = _effective(np.asarray(values, dtype=np.float64) - mean, group)
    # The deviation of as many groups whose mean has the same error.
    return student_interval(mean, deviation * float(np.sqrt(groups / effective)), groups)


def effective_counts(
    scores: NDArray[np.floating],
    positive: NDArray[np.bool_],
    group: Groups,
    fold: NDArray[np.integer] | None = None,
) -> tuple[float, float]:
    """How many independent positives and negatives say as much of an AUC as these samples (N,) do, where
    those of one ``group`` (N,) resemble each other; (N, 2) of pairs, as in `share_of`.

    Either side's number is divided by its design effect: how much more of the AUC's variance the side makes
    when its groups are drawn, instead of its samples (Obuchowski, Biometrics 53, 1997; with groups of one it
    is DeLong's variance). Groups with samples on both sides add the covariance of the sides; it is never
    counted in the attacker's favour beyond independent samples. Where all of a side stand alike to the
    other, as at an AUC of 1, nothing is known of that, and a group counts as one sample. With a ``fold``
    (N,) the AUC is the mean of the folds', each with scores on a scale of its own. Raises `ValueError` where
    a side has no samples (in a fold), or arrays do not fit.
    """
    if not len(scores) == len(positive) == len(group) or not 0 < positive.sum() < len(positive):
        raise ValueError("samples of both classes are needed, each with its class and its group")
    apart = _apart(scores, positive, np.zeros(len(scores), dtype=int) if fold is None else fold)
    ahead, behind = (_effective(apart[side], group[side]) for side in (positive, ~positive))
    if not len(np.intersect1d(group[positive], group[~positive])):
        return ahead, behind
    sides = [np.where(side, apart, 0.0) for side in (positive, ~positive)]
    groups = cluster_count(group)
    if groups == 1 or not apart.any():
        return ahead, behind
    both = _spread(apart, group) - sum(_spread(side, group) for side in sides)
    alone = sum(
        float((side**2).sum()) * count / (count - 1) * count / effective
        for side, count, effective in zip(
            sides, (int(positive.sum()), int((~positive).sum())), (ahead, behind), strict=True
        )
        if count > 1
    )
    more = max(1.0 + both * groups / (groups - 1) / alone, 1e-9) if alone else 1.0
    return (
        min(max(ahead / more, 1.0), float(positive.sum())),
        min(max(behind / more, 1.0), float((~positive).sum())),
    )


def _apart(
    scores: NDArray[np.floating], positive: NDArray[np.bool_], fold: NDArray[np.integer]
) -> NDArray[np.float64]:
    """What each sample adds to the AUC (N,), 0 on the average of a side: its placement among the other side,
    the share of it that stands on the right side of the sample, less the AUC of its fold."""
    found = np.empty(len(scores))
    folds = np.unique(fold)
    for each in folds:
        for side, sign in ((positive, 1.0), (~positive, -1.0)):
            own, others = (fold == each) & side, np.sort(scores[(fold == each) & ~side])
            if not own.any() or not len(others):
                raise ValueError("a fold lacks samples of a class")
            left, right = (np.searchsorted(others, scores[own], end) for end in ("left", "right"))
            place = sign * (left + right) / (2 * len(others))
            found[own] = (place - place.mean()) / (own.sum() * len(folds))
    return found


def _effective(apart: NDArray[np.float64], group: Groups) -> float:
    """How many independent samples are worth as much as these (N,), whose sum of ``apart`` is 0."""
    samples, groups = len(apart), cluster_count(group)
    single = float((apart**2).sum())
    if groups == 1 or samples == 1 or single == 0.0:
        return float(min(groups, samples))
    effect = _spread(apart, group) * groups / (groups - 1) / (single * samples / (samples - 1))
    return max(samples / max(effect, 1.0), 1.0)


def _spread(apart: NDArray[np.float64], group: Groups) -> float:
    """The sum of the products of ``apart`` (N,) of any two samples that have a group in common, each with
    itself among them: of pairs the dyadic variance (Aronow, Samii and Assenova, Political Analysis 23,
    2015)."""
    _, index = np.unique(group, return_inverse=True)
    if group.ndim == 1:
        return float((np.bincount(index, weights=apart) ** 2).sum())
    first, second = index.reshape(group.shape).T
    mixed = first != second
    sums = np.bincount(first, weights=apart, minlength=index.max() + 1)
    sums += np.bincount(second[mixed], weights=apart[mixed], minlength=len(sums))
    # Two pairs of the same two groups have both in common, and were counted twice.
    low, high = np.minimum(first, second)[mixed], np.maximum(first, second)[mixed]
    _, same = np.unique(low * len(sums) + high, return_inverse=True)
    return float((sums**2).sum() - (np.bincount(same, weights=apart[mixed]) ** 2).sum())
