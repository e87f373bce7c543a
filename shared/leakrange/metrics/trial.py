"""The metrics of trials: the use that users get, and what an attack learns of them."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from leakrange.metrics.accuracy import accuracy, majority_share
from leakrange.metrics.accuracy import nag as normalised_gain
from leakrange.metrics.clusters import (
    WILSON,
    area_interval,
    effective_count_of_mean,
    effective_groups,
    share_interval,
)
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.intervals import auc_interval, wilson_interval
from leakrange.metrics.membership import area_in_folds
from leakrange.metrics.outcomes import (
    Grouped,
    Guesses,
    HeldOut,
    Labels,
    Membership,
    Ranking,
    SoftOutputs,
    Taught,
    UserDecisions,
)
from leakrange.metrics.registry import Unit, metric
from leakrange.metrics.roc import mean_auc
from leakrange.metrics.verification import Verification

CARLINI = "Carlini et al. 2022, Section III"


@metric(
    "honesty", measures=UserDecisions, title="honesty", unit="share", role="utility", rank=10,
    interval=WILSON, equation="accuracy of the decisions that users get (HBC, Section 2)",
)  # fmt: skip
def honesty(decisions: UserDecisions) -> Estimate | None:
    """Share of right decisions among users whose class is known; None where none is. With several attributes
    the share is over all decisions, and the interval is as wide as if each user got one."""
    known = decisions.truth >= 0
    if not known.any():
        return None
    value = accuracy(decisions.decided[known], decisions.truth[known])
    equal, known = (
        values.reshape(len(known), -1) for values in (decisions.decided == decisions.truth, known)
    )
    users = known.any(axis=1)
    right = (equal & known)[users].sum(axis=1) / known[users].sum(axis=1)
    group = None if decisions.group is None else decisions.group[users]
    return Estimate.within(value, share_interval(right, group))


@metric(
    "curiosity", measures=Guesses, title="curiosity", unit="share", role="leakage", rank=20, interval=WILSON,
    equation="accuracy of the hidden attribute (HBC, Section 2)", chance="majority", bound="accuracy_bound",
    claim="guesses “{hidden}” right {value} of the time",
)  # fmt: skip
def curiosity(guesses: Guesses) -> Estimate:
    """Share of guesses that are right."""
    value = accuracy(guesses.predicted, guesses.truth)
    return Estimate.within(value, share_interval(guesses.predicted == guesses.truth, guesses.group))


@metric(
    "majority", measures=Guesses, title="majority class", unit="share", role="context", rank=30,
    equation="accuracy of always guessing the commonest class",
)  # fmt: skip
def majority(guesses: Guesses) -> float:
    """Share of the most frequent true class."""
    return majority_share(guesses.truth, guesses.classes)


@metric(
    "majority_target", measures=UserDecisions, title="majority class of the target", unit="share",
    role="context", rank=35, equation="honesty of always answering the commonest class",
)  # fmt: skip
def majority_target(decisions: UserDecisions) -> float | None:
    """Share of the commonest class among users whose class is known; None where none is."""
    known = decisions.truth[decisions.truth >= 0]
    return majority_share(known, 1) if len(known) else None


@metric(
    "entropy", measures=SoftOutputs, title="entropy of outputs", unit="bits", role="context", rank=60,
    equation="mean Shannon entropy of users' soft outputs (HBC, Section 4.1)",
)  # fmt: skip
def entropy(outputs: SoftOutputs) -> float | None:
    """Mean entropy over users; None where there are no probabilities."""
    return None if outputs.bits is None else float(outputs.bits.mean())


@metric(
    "entropy_median", measures=SoftOutputs, title="median entropy of outputs", unit="bits", role="context",
    rank=61, equation="median of the entropies of users' soft outputs",
)  # fmt: skip
def entropy_median(outputs: SoftOutputs) -> float | None:
    """Median entropy over users; None where there are no probabilities."""
    return None if outputs.bits is None else float(np.median(outputs.bits))


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
    equation="area under the ROC curve; the mean over classes (one against the rest), or over folds",
    interval="over samples, or over groups of them (Newcombe, method 5; Obuchowski)",
    claim="tells “{hidden}” with an AUC of {value}", excess=("beyond_imputation", "beyond_blind"),
)  # fmt: skip
def auc(ranking: Ranking) -> Estimate | float | None:
    """The area with its interval; None where all samples are of one class. If all scores are equal, the area
    is the same whatever the truth, and has no interval."""
    scores, truth = ranking.scores, ranking.truth
    if scores.ndim == 2 and scores.shape[1] != 2:
        area = mean_auc(scores, truth.astype(int))
        if area is None or ranking.constant:
            return area
        count = effective_count_of_mean(scores, truth.astype(int), ranking.group)
        return Estimate.within(area, auc_interval(area, count, count) if count else (0.0, 1.0))
    positive = truth == 1
    if not 0 < positive.sum() < len(positive):
        return None
    ranks = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
    value = area_in_folds(ranks, positive, ranking.fold)
    if ranking.constant:
        return value
    return Estimate.within(value, area_interval(value, ranks, positive, ranking.group, ranking.fold))


@metric(
    "constant", measures=Ranking, title="constant scores", unit="share", role="context", rank=42,
    equation="1 where the attack gave everybody the same score: it has learnt nothing",
)  # fmt: skip
def constant(ranking: Ranking) -> float | None:
    """1 where all scores are equal, None where they are not."""
    return 1.0 if ranking.constant else None


@metric(
    "held_out_auc", measures=HeldOut, title="AUC on held-out records", unit="score", role="context", rank=43,
    chance=0.5, equation="AUC of the attack on auxiliary records that it has not learnt from",
    interval="over records, or over groups of them (Newcombe, method 5; Obuchowski)",
)  # fmt: skip
def held_out_auc(held_out: HeldOut) -> Estimate | float | None:
    """The AUC by which an attacker without victims' truth sees what it has learnt: nothing where .5 is not
    below the interval. A panel chooses by this figure, so a panel's is a little too high."""
    return auc(Ranking(held_out.scores, held_out.truth, held_out.group))


for _place, (_name, _rate, _fewest) in enumerate(
    (("tpr_at_001", "1 %", "100"), ("tpr_at_0001", "0.1 %", "1,000"))
):
    metric(
        _name, measures=Membership, title=f"TPR at {_rate} FPR", unit="share", role="leakage",
        rank=61 + _place, chance=0.01 / 10**_place, beside="unsigned_auc",
        takes=f"{_fewest} others or more (people, where a person has several records)",
        equation=f"members found at a false positive rate of {_rate} ({CARLINI})",
    )(attrgetter(f"report.{_name}"))  # fmt: skip

# What else a membership report holds: rank, name, title, unit, chance level, definition.
_REPORTED: tuple[tuple[int, str, str, Unit, float | None, str], ...] = (
    (60, "unsigned_auc", "unsigned AUC", "score", 0.5, "max(AUC, 1 − AUC)"),
    (63, "balanced_accuracy", "balanced accuracy", "share", 0.5, "mean accuracy of members and of others"),
    (64, "precision", "precision", "share", None, "share of true members among predicted members"),
    (65, "recall", "recall", "share", None, "share of the members that are found"),
    (66, "f1", "F1", "score", None, "harmonic mean of precision and recall"),
)

for _rank, _name, _title, _unit, _chance, _equation in _REPORTED:
    metric(
        _name, measures=Membership, title=_title, unit=_unit, role="leakage", rank=_rank,
        chance=_chance, equation=_equation,
    )(attrgetter(f"report.{_name}"))  # fmt: skip


@metric(
    "records", measures=Membership, title="records", unit="count", role="context", rank=90,
    equation="records whose membership was inferred",
)  # fmt: skip
def records(membership: Membership) -> float:
    """Number of members and others together."""
    return float(len(membership.truth))


@metric(
    "effective_groups", measures=Grouped, title="groups, effective", unit="count", role="context", rank=93,
    equation="groups of one size that say as much of an error as those of the samples: one more than "
    "Satterthwaite’s degrees of freedom",
)  # fmt: skip
def groups(outcome: Grouped) -> float | None:
    """Effective number of people, recordings or other groups of samples that resemble each other; None where
    all samples are independent."""
    return effective_groups(outcome.group)


@metric(
    "teacher_accuracy", measures=Taught, title="teacher's accuracy", unit="share", role="context", rank=15,
    interval="over samples (Wilson)",
    equation="on members' images that it was not trained on (FACELEAKS, Section 3.2)",
)  # fmt: skip
def teacher_accuracy(taught: Taught) -> Estimate | None:
    """Accuracy in the teacher's own task; None where training kept no images for it."""
    figures = taught.figures
    if "honesty" not in figures:
        return None
    right, of = figures["honesty"], int(figures["samples"])
    return Estimate.within(right, wilson_interval(round(right * of), of))


@metric(
    "training_accuracy", measures=Taught, title="teacher's accuracy in training", unit="share",
    role="context", rank=15, equation="on members' images that it was trained on",
)  # fmt: skip
def training_accuracy(taught: Taught) -> float | None:
    """Training accuracy in the teacher's own task, without augmentation; None where it was not measured."""
    return taught.trained.get("honesty")


@metric(
    "generalisation_gap", measures=Taught, title="generalisation gap", unit="share", role="context", rank=15,
    equation="accuracy on members' images that it was trained on, minus that on others of them",
)  # fmt: skip
def generalisation_gap(taught: Taught) -> float | None:
    """Training accuracy less test accuracy in the teacher's own task, in [-1, 1]; None where one was not
    measured."""
    if "honesty" not in taught.figures or "honesty" not in taught.trained:
        return None
    return taught.trained["honesty"] - taught.figures["honesty"]


metric(
    "verification_threshold", measures=Verification, title="verification threshold", unit="number",
    role="context", rank=16,
    equation="the same person up to this distance; mean over folds (FACELEAKS, Section 3.3)",
)(attrgetter("threshold"))  # fmt: skip

metric(
    "verification_deviation", measures=Verification, title="deviation over folds", unit="number",
    role="context", rank=17, equation="sample deviation of the folds' accuracies of verification",
)(attrgetter("deviation"))  # fmt: skip

metric(
    "labels_right", measures=Labels, title="persons deduced right", unit="share", role="context", rank=91,
    equation="of the images that the attacker named: whose person is right (FACELEAKS, Algorithm 1)",
)(attrgetter("labels_right"))  # fmt: skip

metric(
    "people", measures=Labels, title="people with enough images", unit="count", role="context", rank=92,
    equation="people of whom the attacker had enough images, known ones among them",
)(attrgetter("people"))  # fmt: skip
