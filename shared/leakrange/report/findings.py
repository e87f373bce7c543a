"""What the figures of a run say, before anything is written or drawn.

A *subject* is a provider in one role: the data it serves, what it releases, and which attribute is hidden in
it. A subject under a defence is judged by the strongest attack (highest mean curiosity, then AUC) at the
largest budget that was finished.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from leakrange.metrics import summarise as estimate
from leakrange.scenario.results import RunResults, Summary, TrialResult
from leakrange.scenario.summary import Estimate, identity, summarise

__all__ = ["HARDLY", "LITTLE", "STOPS", "Findings", "Subject", "Verdict", "find", "gap"]

T = TypeVar("T")

LITTLE = 0.05
"""Outputs leak little when the strongest attack is at most this share above the majority class."""
STOPS = 0.03
"""A defence stops the leak when no attack is more than this share above the majority class."""
HARDLY = 0.9
"""A defence hardly changes anything when the attack keeps at least this share of its normalised gain."""


class Subject(NamedTuple):
    """A provider in one role."""

    data: str
    provider: str
    behaviour: str
    release: str
    target: str
    sensitive: str

    @classmethod
    def of(cls, row: Summary | TrialResult) -> Subject:
        """The subject that a trial or a summary is about."""
        return cls(row.data, row.provider, row.behaviour, row.release, row.target, row.sensitive)

    @property
    def honest(self) -> bool:
        """Whether the provider was trained to do its task and nothing else."""
        return self.behaviour == "honest"


@dataclass(frozen=True)
class Verdict:
    """What one defence does to the subjects that leak without it.

    ``kept`` is the least and the greatest share of the undefended normalised gain that the strongest attack
    keeps (1 is all of it), ``worst`` the greatest distance from the majority class, ``cost`` the mean change
    of honesty.
    """

    defence: str
    effect: Literal["stops", "weakens", "hardly"]
    kept: tuple[float, float]
    worst: float
    cost: float | None
    subjects: int


@dataclass(frozen=True)
class Findings:
    """The figures that the report is written from. All orders are those of the scenario."""

    results: RunResults
    summaries: list[Summary]
    subjects: list[Subject]
    defences: list[str]
    undefended: str | None
    best: dict[tuple[Subject, str], Summary]
    """The strongest attack at the largest budget, per subject and defence."""
    cells: dict[tuple[str | int, ...], list[TrialResult]]
    """All trials by what they share but for the seed, see `identity`."""

    @property
    def datasets(self) -> list[str]:
        """Data sets of the subjects."""
        return list(dict.fromkeys(subject.data for subject in self.subjects))

    @property
    def after_members(self) -> bool:
        """Whether any attack is after the members of a training set, and has been judged."""
        return any(row.tpr_at_001 is not None for row in self.summaries)

    def colour(self, defence: str) -> int:
        """The colour of a defence, the same in all charts; 0 is the undefended case."""
        others = [name for name in self.defences if name != self.undefended]
        return 0 if defence == self.undefended else 1 + others.index(defence)

    def of_data(self, data: str) -> list[Subject]:
        """The subjects on one data set."""
        return [subject for subject in self.subjects if subject.data == data]

    def open(self, subject: Subject) -> Summary | None:
        """The strongest attack on the subject's undefended outputs."""
        return self.best.get((subject, self.undefended)) if self.undefended is not None else None

    def label(self, subject: Subject) -> str:
        """The provider's name, and what tells it from the same provider in another role."""
        twins = [other for other in self.subjects if other.provider == subject.provider]
        parts = [subject.provider]
        for name in ("data", "release", "target", "sensitive"):
            if len({getattr(other, name) for other in twins}) > 1:
                parts.append(getattr(subject, name))
        return " · ".join(parts)

    def reference(self, subject: Subject) -> Summary | None:
        """The undefended honest provider of the same task; of several, the one with the highest honesty."""
        rivals = [
            row
            for other in self.subjects
            if other.honest and (other.data, other.target) == (subject.data, subject.target)
            if (row := self.open(other)) is not None and row.honesty is not None
        ]
        return max(rivals, key=lambda row: row.honesty[0] if row.honesty else 0.0, default=None)

    def trials(self, row: Summary) -> list[TrialResult]:
        """The finished trials behind a summary."""
        return [trial for trial in self.cells[identity(row)] if trial.state == "done"]

    def honesty_difference(self, row: Summary, reference: Summary) -> Estimate | None:
        """Honesty of ``row`` less that of ``reference``, paired by seed; None where they share no seed."""
        other = {t.seed: t.honesty for t in self.trials(reference)}
        pairs = [
            trial.honesty - theirs
            for trial in self.trials(row)
            if trial.honesty is not None and (theirs := other.get(trial.seed)) is not None
        ]
        return estimate(pairs) if pairs else None

    def leaking(self) -> list[Subject]:
        """The subjects whose undefended outputs leak more than a little."""
        rows = ((subject, self.open(subject)) for subject in self.subjects)
        return [subject for subject, row in rows if row is not None and (gap(row) or 0.0) > LITTLE]

    def verdicts(self) -> list[Verdict]:
        """What each defence does to the subjects that leak; those without common figures are left out."""
        found = (self._verdict(defence) for defence in self.defences if defence != self.undefended)
        return [verdict for verdict in found if verdict is not None]

    def _verdict(self, defence: str) -> Verdict | None:
        kept: list[float] = []
        gaps: list[float] = []
        costs: list[float] = []
        for subject in self.leaking():
            before, after = self.open(subject), self.best.get((subject, defence))
            if before is None or after is None or after.nag is None or not (before.nag and before.nag[0] > 0):
                continue
            kept.append(after.nag[0] / before.nag[0])
            gaps.append(gap(after) or 0.0)
            cost = self.honesty_difference(after, before)
            if cost is not None:
                costs.append(cost[0])
        if not kept:
            return None
        effect: Literal["stops", "weakens", "hardly"] = (
            "stops" if max(gaps) <= STOPS else "hardly" if min(kept) >= HARDLY else "weakens"
        )
        cost_mean = sum(costs) / len(costs) if costs else None
        return Verdict(defence, effect, (min(kept), max(kept)), max(gaps), cost_mean, len(kept))


def gap(row: Summary) -> float | None:
    """How far the attack is above the majority class, as a share of 1."""
    if row.curiosity is None or row.majority is None:
        return None
    return row.curiosity[0] - row.majority


def find(results: RunResults) -> Findings:
    """Read the findings off the results; summaries are made from the trials where the results hold none."""
    summaries = results.summaries or summarise(results.trials)
    measured = [row for row in summaries if row.curiosity is not None]
    groups: dict[tuple[Subject, str], list[Summary]] = defaultdict(list)
    for row in measured:
        groups[Subject.of(row), row.defence].append(row)
    cells: dict[tuple[str | int, ...], list[TrialResult]] = defaultdict(list)
    for trial in results.trials:
        cells[identity(trial)].append(trial)
    defences = _ordered(row.defence for row in summaries)
    return Findings(
        results=results,
        summaries=summaries,
        subjects=_ordered(Subject.of(row) for row in summaries),
        defences=defences,
        undefended=_undefended(results, defences),
        best={key: _strongest(rows) for key, rows in groups.items()},
        cells=cells,
    )


def _ordered(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


def _strongest(rows: list[Summary]) -> Summary:
    budget = max(row.budget for row in rows)
    return max(
        (row for row in rows if row.budget == budget),
        key=lambda row: (row.curiosity[0] if row.curiosity else 0.0, row.auc[0] if row.auc else 0.0),
    )


def _undefended(results: RunResults, defences: list[str]) -> str | None:
    """The defence whose chain is empty in the scenario, or the one named ``none``."""
    chains = results.scenario.get("defences")
    if isinstance(chains, dict):
        for name in defences:
            if name in chains and not chains[name]:
                return name
    return "none" if "none" in defences else None
