"""Intervals of figures of samples that resemble each other, as several pictures of one person do.

Groups are drawn at random, not samples. So a figure's variance is that of leaving out one group after another
(the jackknife; for equal groups it is the common variance between groups). Its degrees of freedom are
Satterthwaite's: C − 1 for C equal groups, and fewer where some groups have most of the samples (Bell and
McCaffrey, Survey Methodology 28, 2002; Imbens and Kolesár, Review of Economics and Statistics 98, 2016).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.intervals import Z95, auc_interval, student_interval, wilson_interval

__all__ = [
    "FEW",
    "WILSON",
    "area_interval",
    "cluster_count",
    "effective_count_of_mean",
    "effective_counts",
    "effective_groups",
    "mean_interval",
    "placements_apart",
    "share_interval",
    "share_of",
    "spread",
]

FEW = 10
"""Number of groups below which the 95 % of an interval are only approximate."""
WILSON = "over samples, or over groups of them (Wilson; Korn and Graubard)"
"""Description of the interval of a share, see `share_interval`."""
Groups = NDArray[np.integer]


def cluster_count(group: Groups) -> int:
    """Number of different groups in ``group`` (N,), or (N, 2) of pairs."""
    return len(np.unique(group))


def effective_groups(group: Groups | None) -> float | None:
    """Number of groups of one size that would tell as much of a figure's error as those of ``group`` (N,), or
    (N, 2) of pairs: one more than the degrees of freedom. None where each sample is independent of all
    others.

    Group g has a part w of all samples. If samples had nothing in common, leaving groups out would give a
    variance with the degrees of freedom (Σ w/(1 − w))² / ((Σ a)² + Σ a²(1 − 2w)/w²), a = (w/(1 − w))². A
    person who is in every sample, or in every pair, leaves nothing to compare with: that counts as one group.
    """
    if group is None or (group.ndim == 1 and cluster_count(group) == len(group)):
        return None
    counts = np.unique(group, return_counts=True)[1]
    if _present(group)[1].max() == len(group):
        return 1.0
    weight = counts / counts.sum()
    left = (weight / (1.0 - weight)) ** 2
    error = left.sum() ** 2 + (left**2 * (1.0 - 2.0 * weight) / weight**2).sum()
    return 1.0 + float((weight / (1.0 - weight)).sum() ** 2 / error)


def share_of(right: NDArray[np.bool_] | NDArray[np.floating], group: Groups | None) -> tuple[float, float]:
    """Share of samples that are ``right`` (N,), or the mean of the right part of each, and the number of
    independent samples that would tell as much.

    Without a ``group`` (N,) all N are independent. With (N, 2) each sample is a pair, and pairs with a group
    in common resemble each other. N is divided by the design effect: the variance of the share when groups
    are drawn, over that when samples are (Kish 1965, Section 5.4). Where a group has several samples, it is
    also divided by the square of t/z, with the degrees of freedom of that variance (Korn and Graubard, Survey
    Methodology 24, 1998; `effective_groups`). Where all samples are right, or none is, an effective group
    counts as one sample; of a single group the number is 0. Raises `ValueError` for no samples, or groups
    that do not fit.
    """
    if not len(right) or (group is not None and len(group) != len(right)):
        raise ValueError("a share is of one sample or more, each with its group")
    share, groups = float(np.mean(right)), effective_groups(group)
    if group is None or groups is None:
        return share, float(len(right))
    effective = _effective(np.asarray(right, dtype=np.float64) - share, group)
    return share, effective * _factor(groups - 1.0)


def share_interval(
    right: NDArray[np.bool_] | NDArray[np.floating], group: Groups | None = None
) -> tuple[float, float]:
    """The 95 % interval of the share of samples that are ``right``: Wilson's, with the number of samples that
    `share_of` gives; 0 to 1 where all are of one group. Raises as `share_of` does."""
    share, count = share_of(right, group)
    return wilson_interval(share * count, count) if count else (0.0, 1.0)


def mean_interval(values: NDArray[np.floating], group: Groups | None = None) -> tuple[float, float] | None:
    """The 95 % interval of the mean of ``values`` (N,) by Student's t. The degrees of freedom are one fewer
    than the samples, or than the effective groups. None where there is only one. ``group`` is that of
    `share_of`; groups that vary less than samples would count as samples."""
    mean, samples = float(np.mean(values)), len(values)
    groups = effective_groups(group)
    if samples < 2 or groups == 1.0:
        return None
    deviation = float(np.std(values, ddof=1))
    if group is None or groups is None:
        return student_interval(mean, deviation, samples)
    effective = _effective(np.asarray(values, dtype=np.float64) - mean, group)
    # The deviation of as many groups whose mean has the same error.
    return student_interval(mean, deviation * float(np.sqrt(groups / effective)), groups)


def area_interval(
    area: float,
    scores: NDArray[np.floating],
    positive: NDArray[np.bool_],
    group: Groups | None = None,
    fold: NDArray[np.integer] | None = None,
) -> tuple[float, float]:
    """The 95 % interval of an AUC ``area`` of samples (N,): Newcombe's, with the positives and negatives of
    `effective_counts`, and wider by t/z of its degrees of freedom; 0 to 1 where all of a side are of one
    group. ``group``, ``fold`` and what is raised are those of `effective_counts`."""
    if group is None or effective_groups(group) is None:
        return auc_interval(area, float(positive.sum()), float((~positive).sum()))
    positives, negatives, freedom = effective_counts(scores, positive, group, fold)
    if not freedom:
        return 0.0, 1.0
    return auc_interval(area, positives * _factor(freedom), negatives * _factor(freedom))


def effective_counts(
    scores: NDArray[np.floating],
    positive: NDArray[np.bool_],
    group: Groups,
    fold: NDArray[np.integer] | None = None,
) -> tuple[float, float, float]:
    """Numbers of independent positives and negatives that would tell as much of an AUC as these samples (N,),
    and the degrees of freedom with which these numbers are known: 0 where all of a side are of one group.
    Samples of one ``group`` (N,), or (N, 2) of pairs, resemble each other, as in `share_of`.

    Either side's number is divided by its design effect: how much more of the AUC's variance the side causes
    when its groups are drawn, instead of its samples (Obuchowski, Biometrics 53, 1997, for equal groups; with
    groups of one it is DeLong's variance). Groups with samples on both sides add the covariance of the sides;
    it never counts in the attacker's favour beyond independent samples. Where a whole side stands alike to
    the other, as at an AUC of 1, the design effect is unknown, and an effective group counts as one sample.
    The sides' degrees of freedom are joined as Welch does, or as those of one error where the sides share
    groups. With a ``fold`` (N,) the AUC is the mean of the folds', each with scores on a scale of its own.
    Raises `ValueError` where a side has no samples (in a fold), or arrays do not fit.
    """
    if not len(scores) == len(positive) == len(group) or not 0 < positive.sum() < len(positive):
        raise ValueError("samples of both classes are needed, each with its class and its group")
    offsets = placements_apart(scores, positive, np.zeros(len(scores), dtype=int) if fold is None else fold)
    sides = (positive, ~positive)
    count = np.array([float(side.sum()) for side in sides])
    free = np.array([(effective_groups(group[side]) or float(side.sum())) - 1.0 for side in sides])
    if not free.all():
        return 1.0, 1.0, 0.0
    effective = np.array([_effective(offsets[side], group[side]) for side in sides])
    # A side of one sample has no free error, and was handed back above.
    variance = np.array([_alone(offsets[side]) for side in sides]) * count / effective
    shared = len(np.intersect1d(group[positive], group[~positive])) > 0
    weight = variance / variance.sum() if variance.any() else np.array([0.5, 0.5])
    freedom = (weight / np.sqrt(free)).sum() ** -2 if shared else 1.0 / (weight**2 / free).sum()
    if shared and variance.any():
        left = np.empty(group.shape)
        for side in sides:
            left[side] = _left(group[side])
        parts = sum(spread(np.where(side, offsets, 0.0), group, left) for side in sides)
        covariance = (spread(offsets, group, left) - parts) * (1.0 - 1.0 / cluster_count(group))
        effective = effective / max(1.0 + covariance / float(variance.sum()), 1e-9)
    positives, negatives = np.clip(effective, 1.0, count)
    return float(positives), float(negatives), float(freedom)


def effective_count_of_mean(
    scores: NDArray[np.floating], labels: NDArray[np.integer], group: Groups | None = None
) -> float:
    """Number n for which an AUC of n independent positives and n negatives varies as much as the mean AUC of
    one class against the rest of ``scores`` (N, S) for ``labels`` (N,), at its present value.

    The variance is that of the samples' shares in the mean (DeLong et al., Biometrics 44, 1988), summed over
    each ``group`` (N,). The number of groups is smaller by the square of t/z, as in `share_of`. A class of
    one sample or group adds the variance of a single placement about which nothing is known. At a mean of 0
    or 1, where no share varies, n is the number of samples of the smallest class. It is 0 where all are of
    one group. Raises `ValueError` where fewer than two classes have samples.
    """
    sides = [labels == each for each in np.unique(labels)]
    if len(sides) < 2:
        raise ValueError("samples of two classes or more are needed")
    groups = effective_groups(group)
    each = np.arange(len(labels)) if group is None or groups is None else group
    shares, alone, area = np.zeros(len(labels)), 0.0, 0.0
    single = np.zeros(len(labels), dtype=int)
    for number, positive in zip(np.unique(labels), sides, strict=True):
        offsets = placements_apart(scores[:, number], positive, single)
        for side in (positive, ~positive):
            if (effective_groups(each[side]) or float(side.sum())) > 1.0:
                left = _left(each[side])
                factor = left if left.ndim == 1 else np.sqrt(left.prod(axis=1))
                offsets[side] *= factor * np.sqrt(1.0 - 1.0 / cluster_count(each[side]))
            else:
                alone += 1 / 12 / len(sides) ** 2
        shares += offsets / len(sides)
        area += _area(scores[:, number], positive) / len(sides)
    fewer = 1.0 if groups is None else _factor(groups - 1.0)
    variance = spread(shares, each, np.ones(each.shape)) + alone
    product = area * (1 - area)
    if variance <= 0.0 or product <= 0.0:
        return fewer * float(min(side.sum() for side in sides))
    inner = product * ((1 - area) / (2 - area) + area / (1 + area))
    count = (inner + np.sqrt(inner**2 + 4 * variance * (product - inner))) / (2 * variance)
    return float(max(count, 1.0)) * fewer


def _area(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> float:
    others = np.sort(scores[~positive])
    left, right = (np.searchsorted(others, scores[positive], end) for end in ("left", "right"))
    return float((left + right).mean() / (2 * len(others)))


def placements_apart(
    scores: NDArray[np.floating], positive: NDArray[np.bool_], fold: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Contribution of each sample to the AUC (N,), 0 on the average of a side: its placement among the other
    side (the share of it that stands on the right side of the sample), less the AUC of its fold."""
    offsets = np.empty(len(scores))
    folds = np.unique(fold)
    for each in folds:
        for side, sign in ((positive, 1.0), (~positive, -1.0)):
            judged, others = (fold == each) & side, np.sort(scores[(fold == each) & ~side])
            if not judged.any() or not len(others):
                raise ValueError("a fold lacks samples of a class")
            left, right = (np.searchsorted(others, scores[judged], end) for end in ("left", "right"))
            place = sign * (left + right) / (2 * len(others))
            offsets[judged] = (place - place.mean()) / (judged.sum() * len(folds))
    return offsets


def _factor(freedom: float) -> float:
    """(z/t)²: the part of the samples that is left where a variance has that ``freedom``; 0 for none."""
    from scipy.special import stdtrit  # here, since not all who import this module have SciPy

    return float(Z95 / stdtrit(freedom, 0.975)) ** 2 if freedom else 0.0


def _alone(offsets: NDArray[np.float64]) -> float:
    """Variance of the sum of these independent samples (N,), whose ``offsets`` add up to 0."""
    return float((offsets**2).sum()) * len(offsets) / (len(offsets) - 1)


def _effective(offsets: NDArray[np.float64], group: Groups) -> float:
    """Number of independent samples that are worth as much as these (N,), whose ``offsets`` add up to 0."""
    samples, groups = len(offsets), effective_groups(group) or float(len(offsets))
    if groups == 1.0 or not offsets.any():
        return min(groups, float(samples))
    effect = spread(offsets, group, _left(group)) * (1.0 - 1.0 / cluster_count(group)) / _alone(offsets)
    return max(samples / max(effect, 1.0), 1.0)


def _present(group: Groups) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index of each group (N,) or (N, 2), and the number of samples that each group is in (C,)."""
    groups, index = np.unique(group, return_inverse=True)
    index = index.reshape(group.shape)
    counts = np.bincount(index.ravel(), minlength=len(groups))
    if group.ndim == 2:
        counts -= np.bincount(index[index[:, 0] == index[:, 1], 0], minlength=len(groups))
    return index, counts


def _left(group: Groups) -> NDArray[np.float64]:
    """Factor by which a figure's change grows for each sample when its group is left out, since fewer samples
    are left: N over the samples without the group, in the shape of ``group``."""
    index, counts = _present(group)
    return np.asarray((len(group) / (len(group) - counts))[index], dtype=np.float64)


def spread(offsets: NDArray[np.float64], group: Groups, left: NDArray[np.float64]) -> float:
    """Sum of the squares of the changes from leaving out each group. It adds the products of ``offsets`` (N,)
    times ``left`` of any two samples with a group in common, each sample with itself among them. For pairs it
    is the dyadic variance (Aronow, Samii and Assenova, Political Analysis 23, 2015)."""
    _, index = np.unique(group, return_inverse=True)
    if group.ndim == 1:
        return float((np.bincount(index, weights=offsets * left) ** 2).sum())
    first, second = index.reshape(group.shape).T
    mixed = first != second
    sums = np.bincount(first, weights=offsets * left[:, 0], minlength=index.max() + 1)
    sums += np.bincount(second[mixed], weights=(offsets * left[:, 1])[mixed], minlength=len(sums))
    # Two pairs of the same two groups have both in common, and were counted twice.
    low, high = np.minimum(first, second)[mixed], np.maximum(first, second)[mixed]
    _, same = np.unique(low * len(sums) + high, return_inverse=True)
    twice = (offsets * np.sqrt(left.prod(axis=1)))[mixed]
    return float((sums**2).sum() - (np.bincount(same, weights=twice) ** 2).sum())
