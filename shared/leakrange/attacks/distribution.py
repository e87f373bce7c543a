"""Attacks on the share of a training set that has an attribute: three tests of a model's answers, and a
classifier of answers as their rival."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge, check_lengths
from leakrange.metrics.roc import most_accurate_threshold
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["DistributionAttack", "KlTest", "LossTest", "ShareClassifier", "ShareEvidence", "ThresholdTest"]

LEAST = 1e-4
"""Probabilities are held above this, as by the authors of the KL test."""
PENALTIES = np.logspace(0, 7, 15)


def _ascending(shares: list[float]) -> list[float]:
    if shares != sorted(shares):
        raise ValueError("should ascend, the share that is told from the last one first")
    return shares


Share = Annotated[float, Field(gt=0.0, lt=1.0)]


class DistributionParameters(Strict):
    """The first and the last of ``shares`` are told apart; equal ones are for a control, since nothing can
    tell them apart. ``auxiliary`` is the most of its own records that the attacker asks about, ``stand_ins``
    the number of further models of each share that it is judged by."""

    shares: Annotated[list[Share], Field(min_length=2, max_length=9), AfterValidator(_ascending)] = [0.3, 0.7]
    auxiliary: Annotated[int, Field(ge=50, le=100_000)] = 1000
    stand_ins: Annotated[int, Field(ge=2, le=512)] = 16
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


class ShadowedParameters(DistributionParameters):
    """``shadows`` is the number of models that the attacker trains for each share."""

    shadows: Annotated[int, Field(ge=2, le=512)] = 16


@dataclass(frozen=True)
class ShareEvidence:
    """Answers about N records of the attacker, whose classes are ``labels`` (N,), and of which those that are
    ``having`` (N,) have the attribute.

    observed: answers (M, N, Y) of M models whose share is asked. shadows: those (K, N, Y) of the attacker's
    own models, the share of each is that at its ``place`` (K,) among ``shares``. release: "logits" or
    "softmax".
    """

    observed: NDArray[np.floating]
    labels: NDArray[np.integer]
    having: NDArray[np.bool_]
    shadows: NDArray[np.floating]
    place: NDArray[np.integer]
    shares: tuple[float, ...]
    release: str

    def __post_init__(self) -> None:
        """Raise `InvalidInput` for answers that are not finite or do not fit, and for records that all have
        the attribute, or none of which has."""
        for answers in (self.observed, self.shadows):
            if answers.ndim != 3 or answers.shape[1] != len(self.labels) or not np.isfinite(answers).all():
                raise InvalidInput(
                    f"answers {answers.shape} about {len(self.labels)} records, or some that are no number"
                )
        check_lengths(labels=self.labels, having=self.having)
        check_lengths(shadows=self.shadows, place=self.place)
        if self.having.all() or not self.having.any():
            raise InvalidInput(
                f"of {len(self.having)} records all have the attribute, or none has",
                hint="ask about more records",
            )

    @property
    def extremes(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which shadows (K,) have the lowest share, and which the highest."""
        return self.place == 0, self.place == len(self.shares) - 1

    def weights(self, share: float) -> NDArray[np.float64]:
        """Weights (N,) that add up to 1, with which the records stand for a set of that share."""
        count = self.having.sum()
        return np.asarray(np.where(self.having, share / count, (1 - share) / (len(self.having) - count)))

    def accuracy(self, answers: NDArray[np.floating], share: float) -> NDArray[np.float64]:
        """The accuracy (M,) of models with these answers (M, N, Y) on a set of that share."""
        return np.asarray((answers.argmax(axis=2) == self.labels) @ self.weights(share))

    def log_probabilities(self, answers: NDArray[np.floating]) -> NDArray[np.float64]:
        """The answers (M, N, Y) as logarithms of distributions."""
        values = np.asarray(answers, np.float64)
        if self.release == "logits":
            values = np.exp(values - values.max(axis=2, keepdims=True))
            values /= values.sum(axis=2, keepdims=True)
        values = np.clip(values, LEAST, 1.0)
        return np.asarray(np.log(values / values.sum(axis=2, keepdims=True)))


class DistributionAttack(Attack):
    """An attack that tells which of two shares of the training set had an attribute."""

    kind: ClassVar[str] = "distribution"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "records of its own, their classes and attribute",
        "the two shares",
        "the target's architecture and training",
    )
    paper: ClassVar[str] = "Suri and Evans 2022"
    Parameters: ClassVar[type[BaseModel]] = ShadowedParameters
    arrays: ClassVar[type[Any] | None] = ShareEvidence
    needs: ClassVar[tuple[str, ...]] = ("shadows", "place", "shares")

    @classmethod
    def arrays_filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With the axis of a single model, and no shadows, where they are not given."""
        observed = given.get("observed", np.empty((0, 0, 0)))
        observed = observed[np.newaxis] if observed.ndim == 2 else observed
        nothing = {"shadows": observed[:0], "place": np.empty(0, np.int64), "shares": (0.0, 1.0)}
        return {**nothing, **given} | ({"observed": observed} if "observed" in given else {})

    def on_arrays(self, evidence: Any) -> Any:
        """See `score`."""
        return self.score(evidence)

    @abstractmethod
    def score(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        """One finite score for each model (M,). Above 0 it says that the share is the last, else the
        first."""

    def estimate(self, evidence: ShareEvidence) -> NDArray[np.float64] | None:  # noqa: ARG002
        """The share of each model (M,), in [0, 1]; None from an attack that only chooses."""
        return None


@attacks.register("loss-test")
class LossTest(DistributionAttack):
    """A model is more accurate on a set like its own: whichever of the two sets it does better on is taken.
    It trains nothing, and is mistaken where one side is easier for every model."""

    name: ClassVar[str] = "loss-test"
    labels_suffice: ClassVar[bool] = True
    summary: ClassVar[str] = "of two sets of records, one of each share, which is the model better on"
    equation: ClassVar[str] = "loss test"
    grants: ClassVar[tuple[str, ...]] = DistributionAttack.grants[:3]
    needs: ClassVar[tuple[str, ...]] = ()
    Parameters: ClassVar[type[BaseModel]] = DistributionParameters

    def score(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        """The accuracy on records with the attribute less that on records without. The accuracies on sets of
        the two shares differ by the same, times the difference of the shares."""
        return evidence.accuracy(evidence.observed, 1.0) - evidence.accuracy(evidence.observed, 0.0)


@attacks.register("threshold-test")
class ThresholdTest(DistributionAttack):
    """A threshold on the accuracy on one of the two sets, whichever tells the shadow models apart better."""

    name: ClassVar[str] = "threshold-test"
    labels_suffice: ClassVar[bool] = True
    summary: ClassVar[str] = "a threshold on the accuracy, which parts shadow models of the two shares best"
    equation: ClassVar[str] = "threshold test"

    def score(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        """How far the accuracy is beyond the threshold."""
        low, high = evidence.extremes
        rules = []
        for share in (evidence.shares[0], evidence.shares[-1]):
            learnt = evidence.accuracy(evidence.shadows[low | high], share)
            for sign in (1.0, -1.0):
                cut, right = most_accurate_threshold(sign * learnt, high[low | high].astype(int))
                rules.append((right, share, sign, cut))
        _, share, sign, cut = max(rules, key=lambda rule: rule[0])
        return sign * evidence.accuracy(evidence.observed, share) - cut


@attacks.register("kl-test")
class KlTest(DistributionAttack):
    """Pairs of shadow models, one of each share, vote for the one whose answers the model's are nearer to, by
    the Kullback-Leibler divergence over sets of either share."""

    name: ClassVar[str] = "kl-test"
    summary: ClassVar[str] = "whose answers are nearer: those of shadow models of the one share or the other"
    paper: ClassVar[str] = "Suri et al. 2023"
    equation: ClassVar[str] = "KL divergence attack"

    def score(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        """The share of votes for the last share, less one half."""
        low, high = evidence.extremes
        logs = evidence.log_probabilities(evidence.observed).reshape(len(evidence.observed), -1)
        own_logs = evidence.log_probabilities(evidence.shadows)
        votes = []
        for share in (evidence.shares[0], evidence.shares[-1]):
            weighted = np.exp(own_logs) * evidence.weights(share)[:, np.newaxis]
            own = (weighted * own_logs).sum(axis=(1, 2))[:, np.newaxis]
            divergence = own - weighted.reshape(len(weighted), -1) @ logs.T  # (K, M)
            first, last = divergence[low][:, np.newaxis], divergence[high][np.newaxis]
            votes.append(((first > last) + 0.5 * (first == last)).mean(axis=(0, 1)))
        return np.asarray(np.mean(votes, axis=0) - 0.5)


@attacks.register("share-classifier")
class ShareClassifier(DistributionAttack):
    """A meta-classifier: a ridge regression on the log odds of all answers, learnt from shadow models. It
    estimates the share as well, from shadow models of all shares."""

    name: ClassVar[str] = "share-classifier"
    summary: ClassVar[str] = "a classifier of answers, learnt from shadow models; it estimates the share, too"
    paper: ClassVar[str] = "Zhang et al. 2021"
    equation: ClassVar[str] = "black-box meta-classifier on the outputs of shadow models"

    def score(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        """The regression of −1 and 1 on shadow models of the first and the last share."""
        low, high = evidence.extremes
        return _regressed(evidence, low | high, np.where(high, 1.0, -1.0))

    def estimate(self, evidence: ShareEvidence) -> NDArray[np.float64]:
        """The regression of the share on all shadow models."""
        shares = np.asarray(evidence.shares)[evidence.place]
        return np.clip(_regressed(evidence, np.ones(len(shares), bool), shares), 0.0, 1.0)


def _regressed(
    evidence: ShareEvidence, chosen: NDArray[np.bool_], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What ridge regression on the ``chosen`` shadows (K,), for each of which the value ``wanted`` (K,) is
    given, says of the observed models (M,). The penalty does best when each shadow is left out in turn."""
    from sklearn.linear_model import RidgeCV

    def features(answers: NDArray[np.floating]) -> NDArray[np.float64]:
        logs = evidence.log_probabilities(answers)
        return (logs[:, :, 1:] - logs[:, :, :1]).reshape(len(logs), -1)

    learnt = features(evidence.shadows[chosen])
    mean, deviation = learnt.mean(axis=0), learnt.std(axis=0) + LEAST
    line: Any = RidgeCV(alphas=PENALTIES).fit((learnt - mean) / deviation, wanted[chosen])
    return np.asarray(line.predict((features(evidence.observed) - mean) / deviation))
