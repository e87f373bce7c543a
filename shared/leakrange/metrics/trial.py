"""The metrics of trials: what users get, and what an attack finds out."""

from __future__ import annotations

from operator import attrgetter

from leakrange.metrics.accuracy import accuracy, majority_share
from leakrange.metrics.accuracy import nag as normalised_gain
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.intervals import auc_interval, effective_counts, wilson_interval
from leakrange.metrics.outcomes import Decisions, Guesses, Membership, Ranking
from leakrange.metrics.registry import Unit, metric
from leakrange.metrics.roc import auc as area
from leakrange.metrics.roc import mean_auc

WILSON = "over samples (Wilson)"
CARLINI = "Carlini et al. 2022, Section III"


def _share(right: float, of: int) -> Estimate:
    return Estimate.within(right, wilson_interval(round(right * of), of))


@metric(
    "honesty", measures=Decisions, title="honesty", unit="share", role="utility", rank=10, interval=WILSON,
    equation="accuracy of the decisions that users get (HBC, Section 2)",
)  # fmt: skip
def honesty(decisions: Decisions) -> Estimate | None:
    """Share of right decisions among users whose class is known; None where none is."""
    known = decisions.truth >= 0
    if not known.any():
        return None
    return _share(accuracy(decisions.decided[known], decisions.truth[known]), int(known.sum()))


@metric(
    "curiosity", measures=Guesses, title="curiosity", unit="share", role="leakage", rank=20, interval=WILSON,
    equation="accuracy of the hidden attribute (HBC, Section 2)", chance="majority",
    claim="guesses “{hidden}” right {value} of the time",
)  # fmt: skip
def curiosity(guesses: Guesses) -> Estimate:
    """Share of guesses that are right."""
    return _share(accuracy(guesses.predicted, guesses.truth), len(guesses.truth))


@metric(
    "majority", measures=Guesses, title="majority class", unit="share", role="context", rank=30,
    equation="accuracy of always guessing the commonest class",
)  # fmt: skip
def majority(guesses: Guesses) -> float:
    """Share of the most frequent true class."""
    return majority_share(guesses.truth, guesses.classes)


@metric(
    "nag", measures=Guesses, title="NAG", unit="score", role="leakage", rank=50, chance=0.0,
    equation="(curiosity − majority) / (1 − majority), 0 where negative (PASS, Eq. 13)",
)  # fmt: skip
def nag(guesses: Guesses) -> float:
    """The normalised accuracy gain."""
    return normalised_gain(
        accuracy(guesses.predicted, guesses.truth), majority_share(guesses.truth, guesses.classes)
    )


@metric(
    "auc", measures=Ranking, title="AUC", unit="score", role="leakage", rank=40, chance=0.5,
    equation="area under the ROC curve; of more than two classes the mean of one against the rest",
    interval="over samples, or over groups of them (Newcombe, method 5; Obuchowski)",
    claim="tells “{hidden}” with an AUC of {value}",
)  # fmt: skip
def auc(ranking: Ranking) -> Estimate | float | None:
    """The area, with its interval where there are two classes; None where all samples are of one class."""
    scores, truth = ranking.scores, ranking.truth
    if scores.ndim == 2 and scores.shape[1] != 2:
        return mean_auc(scores, truth.astype(int))
    positive = truth == 1
    if not 0 < positive.sum() < len(positive):
        return None
    ranks = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
    counts = (float(positive.sum()), float((~positive).sum()))
    if ranking.group is not None:
        counts = effective_counts(ranks, positive, ranking.group)
    value = area(ranks, positive)
    return Estimate.within(value, auc_interval(value, *counts))


# What a membership report holds: name, title, unit, chance level, definition.
_REPORTED: tuple[tuple[str, str, Unit, float | None, str], ...] = (
    ("unsigned_auc", "unsigned AUC", "score", 0.5, "max(AUC, 1 − AUC)"),
    (
        "tpr_at_001",
        "TPR at 1 % FPR",
        "share",
        0.01,
        f"members found at a false positive rate of 1 % ({CARLINI})",
    ),
    ("tpr_at_0001", "TPR at 0.1 % FPR", "share", 0.001, f"the same at 0.1 % ({CARLINI})"),
    ("balanced_accuracy", "balanced accuracy", "share", 0.5, "mean accuracy of members and of others"),
    ("precision", "precision", "share", None, "share of true members among predicted members"),
    ("recall", "recall", "share", None, "share of the members that are found"),
    ("f1", "F1", "score", None, "harmonic mean of precision and recall"),
)

for _place, (_name, _title, _unit, _chance, _equation) in enumerate(_REPORTED):
    metric(
        _name, measures=Membership, title=_title, unit=_unit, role="leakage", rank=60 + _place,
        chance=_chance, equation=_equation,
    )(attrgetter(f"report.{_name}"))  # fmt: skip


@metric(
    "records", measures=Membership, title="records", unit="count", role="context", rank=90,
    equation="records whose membership was inferred",
)  # fmt: skip
def records(membership: Membership) -> float:
    """Members and others together."""
    return float(len(membership.truth))
