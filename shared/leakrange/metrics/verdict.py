"""The verdict that figures of leakage allow: *leaks*, *no leak found* or *cannot tell*.

One rule serves everything that speaks of leaks: reports, pages of runs and their live view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leakrange.metrics.estimate import Estimate

__all__ = [
    "BOUND",
    "LEVEL",
    "LITTLE",
    "Z95",
    "Grade",
    "LeakVerdict",
    "Reached",
    "Spread",
    "Word",
    "grade",
    "judge",
    "spread",
    "visible_lead",
]

LITTLE = 0.05
"""Most that a little leak is beyond chance, with certainty: an AUC of 0.55."""
BOUND = 0.10
"""The leak beyond chance that has to be excluded before a verdict is *no leak found*: an AUC of 0.60."""
LEVEL = 0.05
"""Highest share of verdicts *leaks* where nothing leaks."""
STEEP, MODERATE = 0.25, 0.10
"""Leads from which on a leak has the grade E, and D: an AUC of 0.75, and of 0.60."""
POWER = 0.8
Z95 = 1.959963984540054
Word = Literal["leaks", "none", "unclear"]
Grade = Literal["A", "B", "C", "D", "E", "?"]


@dataclass(frozen=True)
class Spread:
    """A figure over trials that differ only by their seed: the mean, with its standard errors to either side.

    ``freedom`` are the degrees of freedom of Student's t; infinite where samples alone make the error.
    ``trials`` are the value of each trial and its own standard errors; empty where some have no interval.
    """

    mean: float
    below: float
    above: float
    freedom: float = math.inf
    trials: tuple[tuple[float, float, float], ...] = ()

    def within(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval that misses the true figure in a share ``level`` of all cases, half of them each way.
        It ends where the widest interval of a trial ends at the latest: what is so of every model is so of
        their mean."""
        times, of_trial = _quantile(1 - level / 2, self.freedom), _quantile(1 - level / 2)
        low, high = self.mean - times * self.below, self.mean + times * self.above
        if not self.trials:
            return low, high
        lowest = min(value - of_trial * below for value, below, _ in self.trials)
        highest = max(value + of_trial * above for value, _, above in self.trials)
        return max(low, lowest), min(high, highest)

    def visible(self, level: float) -> float:
        """The figure that would have been told from 0 in 8 of 10 cases."""
        return visible_lead(self.below, level, self.freedom)

    @property
    def apart(self) -> bool:
        """Whether trials differ by more than the samples of each leave open."""
        of_trials = sum((below + above) ** 2 / 4 for _, below, above in self.trials)
        return 0.0 < of_trials < len(self.trials) * (self.below + self.above) ** 2 / 8


def spread(estimates: Sequence[Estimate]) -> Spread | None:
    """The spread of one figure over trials of one or more seeds; None where nothing tells how uncertain it
    is.

    Its variance is the mean of the trials' own, plus that of the seeds' values over their number, with
    Satterthwaite's degrees of freedom (Biometrics Bulletin 2, 1946). The trials' own is not divided by the
    number of seeds, since all of them judge the same samples. So one trial of many samples can decide alone,
    seeds that agree take little away from that, and seeds that disagree make the interval wide. Where a trial
    has no interval, only the values of the seeds count.
    """
    count, trials = len(estimates), []
    for each in estimates:
        if each.low is not None and each.high is not None:
            trials.append((each.value, (each.value - each.low) / Z95, (each.high - each.value) / Z95))
    if not count or (count == 1 and not trials):
        return None
    mean = math.fsum(each.value for each in estimates) / count
    seeds = math.fsum((each.value - mean) ** 2 for each in estimates) / max(1, count - 1) / count
    if len(trials) < count:  # equal values of a few seeds, such as 0 and 0, do not make it certain
        return Spread(mean, math.sqrt(seeds), math.sqrt(seeds), count - 1) if seeds else None
    below, above = (math.fsum(each[side] ** 2 for each in trials) / count for side in (1, 2))
    freedom = (count - 1) * (((below + above) / 2 + seeds) / seeds) ** 2 if seeds else math.inf
    return Spread(mean, math.sqrt(below + seeds), math.sqrt(above + seeds), freedom, tuple(trials))


@dataclass(frozen=True)
class Reached:
    """Lead of one attack over chance, or over its control; 0 is no lead.

    ``mean``: None where it is not known. ``beyond``: the lead as a spread; None where nothing tells how
    uncertain it is. ``of_chance``: the lead over chance where the others are over a control: an attack has to
    be beyond both. ``unsigned``: whether less than chance tells as much as more, since scores of an AUC can
    be turned round. ``constant``: whether it gave everybody the same score: it has learnt nothing, and
    nothing is concluded from it. ``scale``: the value that counts as much as a share of 1, in the unit of the
    figure.
    """

    mean: float | None = None
    beyond: Spread | None = None
    of_chance: Spread | None = None
    unsigned: bool = False
    constant: bool = False
    scale: float = 1.0

    @property
    def turned(self) -> bool:
        """Whether the scores are reliably the wrong way round."""
        return self.unsigned and self.beyond is not None and self.beyond.within()[1] < 0.0

    @property
    def strength(self) -> float:
        """The lead by which the strongest attack is chosen, in shares; below all others for a constant
        one."""
        if self.constant or self.mean is None:
            return -math.inf
        return (-self.mean if self.turned else self.mean) / self.scale

    def least(self, level: float) -> float:
        """The least lead, to either side, in shares; 0 or less where there may be none."""
        if self.constant or self.beyond is None:
            return -math.inf
        low, high = self.beyond.within(level)
        least = max(low, -high if self.unsigned else -math.inf)
        if self.of_chance is not None:
            low, high = self.of_chance.within(level)
            least = min(least, max(low, -high))
        return least / self.scale

    def most(self, level: float = LEVEL) -> float:
        """The greatest lead, to either side, in shares."""
        assert self.beyond is not None
        low, high = self.beyond.within(level)
        return max(high, -low if self.unsigned else -math.inf) / self.scale


@dataclass(frozen=True)
class LeakVerdict:
    """The verdict on a provider under a defence, by all attacks on it.

    ``most``: the most that leaks to these attacks, beyond chance; ``visible``: the leak that would have been
    found in 8 of 10 such trials; both in shares, and None where no attack tells. ``why``: the reason that
    nothing can be told: the attacks learnt nothing, have no interval, their seeds disagree, the interval
    is too wide, or the model tells labels alone and no attack is made for these.
    """

    word: Word
    level: float
    """Level at which an attack has to be beyond chance."""
    most: float | None = None
    visible: float | None = None
    why: Literal["", "constant", "no interval", "seeds", "wide", "labels"] = ""

    @property
    def little(self) -> bool:
        """Whether it is certain that hardly anything leaks."""
        return self.word == "none" and self.most is not None and self.most <= LITTLE


def grade(word: Word, lead: float, most: float | None) -> Grade:
    """The grade of a verdict: "?" where it cannot be told. A where at most `LITTLE` leaks with certainty,
    else B where no leak was found; C, D or E by the strongest attack's ``lead``, in shares."""
    if word == "unclear":
        return "?"
    if word == "none":
        return "A" if most is not None and most <= LITTLE else "B"
    return "E" if lead >= STEEP else "D" if lead >= MODERATE else "C"


def judge(
    attacks: Sequence[Reached], among: int | None = None, *, little: float = LITTLE, bound: float = BOUND
) -> LeakVerdict:
    """The verdict by these attacks. The strongest is chosen of ``among`` so many, by default of these alone.

    *Leaks*: an attack is beyond chance with certainty, and the leak may be more than ``little``. The level is
    divided by the number of attacks (Bonferroni, which is Holm's first step), since the strongest of twenty
    is beyond it by luck alone. *No leak found*: none is, and no attack may be beyond chance by more than
    ``bound``. That takes no correction, as what is true of the strongest is so of all. Constant attacks do
    not count.
    """
    telling = [each for each in attacks if not each.constant and each.beyond is not None]
    level = LEVEL / max(among or 0, len(telling), 1)
    if not telling:
        learnt = not any(each.constant for each in attacks)
        return LeakVerdict("unclear", level, why="no interval" if learnt else "constant")
    strongest = max(telling, key=lambda each: each.strength)
    assert strongest.beyond is not None
    most, visible = max(each.most() for each in telling), strongest.beyond.visible(level) / strongest.scale
    if any(each.least(level) > 0.0 and each.most() > little for each in telling):
        return LeakVerdict("leaks", level, most, visible)
    if most <= bound:
        return LeakVerdict("none", level, most, visible)
    return LeakVerdict("unclear", level, most, visible, "seeds" if strongest.beyond.apart else "wide")


def visible_lead(error: float, level: float = LEVEL, freedom: float = math.inf) -> float:
    """The lead that is told from 0 in 8 of 10 cases, where its standard error is ``error`` and the test is of
    that two-sided level."""
    return (_quantile(1 - level / 2, freedom) + _quantile(POWER)) * error


def _quantile(share: float, freedom: float = math.inf) -> float:
    from scipy.special import ndtri, stdtrit  # here, since not all who import this module have SciPy

    return float(ndtri(share) if freedom > 1e6 else stdtrit(freedom, share))
