"""What an obfuscator gives away and keeps of several attributes, as normalised accuracy gains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leakrange.metrics.registry import metric

__all__ = ["AttributeRole", "Probed", "ProbedAttribute", "gain", "mean_gain", "noise_of"]

AttributeRole = Literal["private", "useful", "general"]
"""``general``: a useful attribute that the protector did not know of (PASS: hidden useful)."""


@dataclass(frozen=True)
class ProbedAttribute:
    """Results of probing one attribute; accuracies in [0, 1] over the users' samples.

    accuracy: of a classifier that learned from obfuscated samples, on obfuscated ones. undefended: of one
    that learned from plain samples, on plain ones. unfinetuned: of the latter on obfuscated samples.
    at_least: the lower end of the 95 % interval of ``undefended``; None where that is not known. majority:
    the share of the commonest class. protector: of the adversary that an obfuscator was trained against.
    bits: a lower bound on I(X'; S) by a classifier's probabilities, see `information_bound`. panel_auc: the
    AUC of the best of a panel, chosen by records that were not learned from.
    """

    name: str
    role: AttributeRole
    accuracy: float
    undefended: float
    majority: float
    at_least: float | None = None
    unfinetuned: float | None = None
    protector: float | None = None
    bits: float | None = None
    panel_auc: float | None = None

    def gain(self, accuracy: float | None) -> float | None:
        """The NAG of another accuracy for this attribute."""
        return None if accuracy is None else gain(accuracy, self.majority, self.undefended, self.at_least)

    @property
    def nag(self) -> float | None:
        """The NAG of the classifier that learned from obfuscated samples."""
        return self.gain(self.accuracy)


@dataclass(frozen=True)
class Probed:
    """All attributes that were probed."""

    attributes: Sequence[ProbedAttribute]

    def of(self, *roles: AttributeRole) -> list[ProbedAttribute]:
        """The attributes of these roles."""
        return [each for each in self.attributes if each.role in roles]


def gain(accuracy: float, majority: float, undefended: float, at_least: float | None = None) -> float | None:
    """Normalised accuracy gain: (accuracy − majority) / (undefended − majority), 0 where negative (PASS, Eq.
    13).

    All arguments lie in [0, 1]; the gain is above 1 where obfuscation helps. None where undefended samples
    tell no more than the commonest class, or, with the lower end of their interval ``at_least``, not with
    certainty: then there is no lead to share, and a ratio to it would be noise.
    """
    if (undefended if at_least is None else at_least) <= majority:
        return None
    return max(0.0, (accuracy - majority) / (undefended - majority))


def noise_of(share: float, reference: float, low: float, high: float) -> float:
    """Half the 95 % interval of an accuracy ``share``, derived from the interval ``low`` to ``high`` of a
    ``reference`` accuracy over the same samples. All lie in [0, 1].

    It is scaled as binomial errors are, √(p(1 − p)), so that samples that resemble each other count as in the
    given interval. An accuracy of 0 or 1 has no such error: then the half is that of the given interval.
    """
    half, error = (high - low) / 2.0, reference * (1.0 - reference)
    return half * math.sqrt(share * (1.0 - share) / error) if error > 0.0 else half


def mean_gain(gains: Sequence[float | None]) -> float | None:
    """The mean of those gains that are defined; None where none is."""
    defined = [each for each in gains if each is not None]
    return float(np.mean(defined)) if defined else None


NAG = "(accuracy − majority) / (undefended accuracy − majority), 0 where negative (PASS, Eq. 13)"


def _mean_of(*roles: AttributeRole) -> Callable[[Probed], float | None]:
    return lambda probed: mean_gain([each.nag for each in probed.of(*roles)])


metric(
    "private_nag", measures=Probed, title="private NAG", unit="score", role="leakage", rank=30, chance=0.0,
    equation=f"mean over private attributes of {NAG}; the attacker learns from obfuscated samples",
    claim="tells “{hidden}” with a normalised gain of {value}",
)(_mean_of("private"))  # fmt: skip
metric(
    "useful_nag", measures=Probed, title="useful NAG", unit="score", role="utility", rank=31,
    equation=f"mean over useful attributes of {NAG}; the classifier learns from obfuscated samples",
)(_mean_of("useful"))  # fmt: skip
metric(
    "general_nag", measures=Probed, title="general NAG", unit="score", role="utility", rank=32,
    equation=f"mean over useful attributes that the protector did not know of, of {NAG}",
)(_mean_of("general"))  # fmt: skip


@metric(
    "mnag", measures=Probed, title="mNAG", unit="score", role="utility", rank=33,
    equation="mean NAG of useful and general attributes less mean NAG of private ones (PASS, Eq. 14)",
)  # fmt: skip
def mnag(probed: Probed) -> float | None:
    """The gain of useful attributes less that of private ones, in (−∞, ∞): 1 where everything useful is kept
    and nothing private. None where one side is not defined."""
    useful = mean_gain([each.nag for each in probed.of("useful", "general")])
    private = mean_gain([each.nag for each in probed.of("private")])
    return None if useful is None or private is None else useful - private


@metric(
    "unfinetuned_nag", measures=Probed, title="useful NAG, unfinetuned", unit="score", role="utility",
    rank=34,
    equation="as the useful NAG, of a classifier that learned from samples as they are (PASS, Table 4)",
)  # fmt: skip
def _unfinetuned(probed: Probed) -> float | None:
    return mean_gain([each.gain(each.unfinetuned) for each in probed.of("useful")])


@metric(
    "protector_nag", measures=Probed, title="private NAG, protector’s", unit="score", role="context", rank=35,
    equation="as the private NAG, of the adversary that the obfuscator was trained against (PASS, Table 1)",
)  # fmt: skip
def _protector(probed: Probed) -> float | None:
    return mean_gain([each.gain(each.protector) for each in probed.of("private")])


@metric(
    "private_bits", measures=Probed, title="told of private attributes, at least", unit="bits",
    role="leakage", rank=36,
    equation="mean over private attributes of H(S) − E[−log₂ q(s|x′)], 0 where negative, a lower bound of "
    "I(X′; S) (Barber and Agakov 2003)",
)  # fmt: skip
def _private_bits(probed: Probed) -> float | None:
    bits = [each.bits for each in probed.of("private") if each.bits is not None]
    return float(np.mean(bits)) if bits else None


@metric(
    "private_panel_auc", measures=Probed, title="AUC of private attributes", unit="score", role="leakage",
    rank=37, chance=0.5,
    equation="mean over private attributes of the AUC (of more than two classes the mean of one against the "
    "rest) of whoever is best on records that were not learned from, the paper’s net or another learner",
)  # fmt: skip
def _private_panel_auc(probed: Probed) -> float | None:
    areas = [each.panel_auc for each in probed.of("private") if each.panel_auc is not None]
    return float(np.mean(areas)) if areas else None
