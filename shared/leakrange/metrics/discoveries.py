"""Whom an attacker may call members where at most a given share of those called may be none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.outcomes import Membership
from leakrange.metrics.registry import metric

__all__ = ["RATE", "Called", "called_members", "conformal_p"]

RATE = 0.1
"""The false discovery rate of reports."""
FEWEST = 100
"""The least number of others, of whom half are known to the attacker."""


def conformal_p(scores: NDArray[np.floating], known: NDArray[np.floating]) -> NDArray[np.float64]:
    """p-values (N,) of the hypothesis that a record is no member: (1 + how many of the ``known`` others (K,)
    score at least as high) / (K + 1), the marginal conformal p-values of Bates et al. 2023."""
    above = len(known) - np.searchsorted(np.sort(known), scores, side="left")
    return np.asarray((1.0 + above) / (len(known) + 1.0))


@dataclass(frozen=True)
class Called:
    """The ``tested`` records (N,), those ``called`` members (N,), which are among them, and the truth
    ``members`` (N,)."""

    tested: NDArray[np.bool_]
    called: NDArray[np.bool_]
    members: NDArray[np.bool_]

    @property
    def right(self) -> float | None:
        """The share of the called records that are members; None where none is called."""
        return float(self.members[self.called].mean()) if self.called.any() else None

    @property
    def power(self) -> float:
        """The share of the tested members that are called."""
        return float(self.called[self.tested & self.members].mean())


def called_members(
    scores: NDArray[np.floating],
    members: NDArray[np.bool_],
    rate: float = RATE,
    seed: int = 0,
    group: NDArray[np.integer] | None = None,
    fold: NDArray[np.integer] | None = None,
) -> Called:
    """The records that are called members by their ``scores`` (N,) at a false discovery rate of ``rate``.

    The attacker knows of a random half of the others, drawn by ``seed``, that they are none, and tests all
    further records against these, by the procedure of Benjamini and Hochberg (1995) on conformal p-values.
    The mean share of others among the called is at most ``rate`` times the share of others among the tested,
    where scores of others are exchangeable: conformal p-values depend on each other positively (Bates et al.
    2023). ``group`` (N,) names records that resemble each other; all others of a group are known, or none.
    ``fold`` (N,) tells which model gave each score: records are compared with those of their fold. Raises
    `ValueError` for scores that are not finite, and where there are no members, or no others to know and to
    test.
    """
    from scipy.stats import false_discovery_control  # here, since it takes time to import

    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    groups = np.arange(len(scores)) if group is None else group
    different = np.unique(groups[~members])
    if not members.any() or len(different) < 2:
        raise ValueError("calling members needs members, and two others or more")
    draw = np.random.default_rng([seed % 2**64, int.from_bytes(b"discoveries", "little")])
    drawn = draw.permutation(different)[: len(different) // 2]
    known = ~members & np.isin(groups, drawn)
    p = np.ones(len(scores))
    folds = np.zeros(len(scores), dtype=int) if fold is None else fold
    for each in np.unique(folds):
        p[folds == each] = conformal_p(scores[folds == each], scores[(folds == each) & known])
    called = np.zeros(len(scores), dtype=bool)
    called[~known] = false_discovery_control(p[~known], method="bh") <= rate
    return Called(~known, called, members)


def _of(outcome: Membership) -> Called | None:
    """None for too few others, and for pairs of people, whose groups cannot be parted."""
    members = outcome.truth.astype(bool)
    if int((~members).sum()) < FEWEST or (outcome.group is not None and outcome.group.ndim == 2):
        return None
    return called_members(outcome.scores, members, RATE, outcome.seed, outcome.group, outcome.fold)


BATES = "Benjamini and Hochberg 1995 on conformal p-values (Bates et al. 2023)"
TAKES = f"{FEWEST} others or more, each of them one person's"


@metric(
    "power_at_fdr", measures=Membership, title="found at 10 % FDR", unit="share",
    role="leakage", rank=67, chance=0.0, beside="unsigned_auc", takes=TAKES,
    equation=f"members called such at a false discovery rate of 10 %: {BATES}",
)  # fmt: skip
def power_at_fdr(outcome: Membership) -> float | None:
    """Share of the members that are called."""
    called = _of(outcome)
    return None if called is None else called.power


@metric(
    "called_at_fdr", measures=Membership, title="called at 10 % FDR", unit="count", role="context", rank=91,
    equation="records called members at a false discovery rate of 10 %; half of the others are not tested",
)  # fmt: skip
def called_at_fdr(outcome: Membership) -> float | None:
    """Number of records that are called members."""
    called = _of(outcome)
    return None if called is None else float(called.called.sum())


@metric(
    "right_at_fdr", measures=Membership, title="right of those called at 10 % FDR", unit="share",
    role="context", rank=92,
    equation="share of members among the called: in the mean of many runs 90 % or more",
)  # fmt: skip
def right_at_fdr(outcome: Membership) -> float | None:
    """Share of members among those called; None where none is called."""
    called = _of(outcome)
    return None if called is None else called.right
