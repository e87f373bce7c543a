"""The figures of a run that texts and charts of its report use.

A *subject* is a provider in one role: the data it serves, what it releases, and which attribute is hidden
in it, by the metric that its attacks are judged by. A subject under a defence is judged by the strongest
attack (the highest mean of that metric, then of the other leakage metrics) at the largest finished budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeVar

from leakrange.attacks.kinds import leakage_of
from leakrange.metrics import Metric, OverSeeds, described, with_unmeasurable
from leakrange.metrics import summarise as over_seeds
from leakrange.scenario.gains import chance, gain
from leakrange.scenario.results import RunResults, Summary, TrialResult
from leakrange.scenario.summary import identity, summarise

__all__ = [
    "HARDLY",
    "LITTLE",
    "STOPS",
    "Findings",
    "Subject",
    "Verdict",
    "beside",
    "chance",
    "find",
    "gain",
    "gap",
    "leak",
    "leaked",
    "level",
    "little",
    "measures",
    "stops",
    "utility",
    "utility_metric",
]

T = TypeVar("T")

LITTLE = 0.05
"""Outputs leak little when the strongest attack is at most this much above the chance level."""
STOPS = 0.03
"""A defence stops the leak when no attack is more than this much above the chance level."""
HARDLY = 0.9
"""A defence hardly changes anything when the attack keeps at least this share of its normalised gain, or
where the scale has no end, of its distance from the chance level."""
DECIBELS = 20.0
"""So many decibels count as much as the whole of a share: with one decibel more, a picture has lost a fifth
of its mean squared error."""


class Subject(NamedTuple):
    """A provider in one role."""

    data: str
    provider: str
    behaviour: str
    release: str
    target: str
    sensitive: str
    leakage: str
    """The metric that tells what leaks."""

    @classmethod
    def of(cls, row: Summary | TrialResult) -> Subject:
        """The subject that a trial or a summary is about."""
        leakage = leakage_of(row.kind).name
        return cls(row.data, row.provider, row.behaviour, row.release, row.target, row.sensitive, leakage)

    @property
    def metric(self) -> Metric:
        """The metric that tells what leaks."""
        return described(self.leakage)

    @property
    def honest(self) -> bool:
        """Whether the provider was trained to do its task and nothing else."""
        return self.behaviour == "honest"


@dataclass(frozen=True)
class Verdict:
    """What one defence does to the subjects that leak without it.

    ``kept`` is the least and the greatest share of the undefended normalised gain that the strongest attack
    keeps (1 is all of it), ``worst`` the greatest distance from the chance level, ``cost`` the mean change of
    utility, a share.
    """

    defence: str
    effect: Literal["stops", "weakens", "hardly"]
    kept: tuple[float, float]
    worst: float
    cost: float | None
    subjects: int
    beyond: str = "beyond chance"
    """Where ``worst`` lies, such as "above the majority class", where that is so of all subjects."""
    utility: str = "utility"
    """What ``cost`` is of, such as honesty."""
    most: tuple[Summary, Summary] | None = None
    """The strongest attack without and with the defence on the subject that leaks most with it."""


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
    palette: list[str] = field(default_factory=list)
    """All defences of the run where these are some of them: they keep their colours."""

    @property
    def datasets(self) -> list[str]:
        """Data sets of the subjects."""
        return list(dict.fromkeys(subject.data for subject in self.subjects))

    @property
    def metrics(self) -> list[Metric]:
        """All metrics that any trial has, or was too small for, in the order of columns."""
        there = (name for row in self.summaries for name in row.metrics)
        return [described(name) for name in with_unmeasurable(there)]

    @property
    def families(self) -> dict[str, list[Subject]]:
        """The subjects by what their providers do, honest ones first: honest, curious, and so on. Those of
        audits are not among them: nothing leaks there."""
        leaks = [subject for subject in self.subjects if subject.metric.role != "suspicion"]
        found = {"honest": [subject for subject in leaks if subject.honest]}
        for subject in leaks:
            if not subject.honest:
                found.setdefault(subject.behaviour.partition("/")[0], []).append(subject)
        return found

    def colour(self, defence: str) -> int:
        """The colour of a defence, the same in all charts; 0 is the undefended case."""
        others = [name for name in self.palette or self.defences if name != self.undefended]
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
        for name in ("data", "release", "target", "sensitive", "leakage"):
            if len({getattr(other, name) for other in twins}) > 1:
                parts.append(getattr(subject, name))
        return " · ".join(parts)

    def reference(self, subject: Subject) -> Summary | None:
        """The undefended honest provider of the same task; of several, the one of the highest utility."""
        rivals = [
            (found.mean, row)
            for other in self.subjects
            if other.honest and (other.data, other.target) == (subject.data, subject.target)
            if (row := self.open(other)) is not None and (found := utility(row)) is not None
        ]
        return max(rivals, key=lambda pair: pair[0])[1] if rivals else None

    def trials(self, row: Summary) -> list[TrialResult]:
        """The finished trials behind a summary."""
        return [trial for trial in self.cells[identity(row)] if trial.state == "done"]

    def utility_difference(self, row: Summary, reference: Summary) -> OverSeeds | None:
        """Utility of ``row`` less that of ``reference``, paired by seed; None where they share no seed."""
        name = utility_metric(row)
        if name is None:
            return None
        other = {t.seed: t.value(name.name) for t in self.trials(reference)}
        pairs = [
            own - theirs
            for trial in self.trials(row)
            if (own := trial.value(name.name)) is not None and (theirs := other.get(trial.seed)) is not None
        ]
        return over_seeds(pairs) if pairs else None

    def gain(self, row: Summary) -> float | None:
        """The mean of the trials' normalised gains; None where they have none."""
        found = [value for trial in self.trials(row) if (value := gain(trial)) is not None]
        return over_seeds(found).mean if found else None

    def scales(self) -> list[Findings]:
        """The same of the subjects whose figures can be put together: all whose metric has a best value, and
        those of each other metric."""
        found: dict[str, list[Subject]] = {}
        for subject in self.subjects:
            metric = subject.metric
            if metric.role == "suspicion":
                continue
            found.setdefault(metric.name if metric.best is None else "", []).append(subject)
        return [replace(self, subjects=subjects) for subjects in found.values()]

    def leaking(self) -> list[Subject]:
        """The subjects whose undefended outputs leak more than a little."""
        rows = ((subject, self.open(subject)) for subject in self.subjects)
        return [
            subject for subject, row in rows if row is not None and (gap(row) or 0.0) > little(subject.metric)
        ]

    def verdicts(self) -> list[Verdict]:
        """What each defence does to the subjects that leak; those without common figures are left out."""
        found = (self._verdict(defence) for defence in self.defences if defence != self.undefended)
        return [verdict for verdict in found if verdict is not None]

    def _verdict(self, defence: str) -> Verdict | None:
        pairs = [
            (subject, before, after, was, now)
            for subject in self.leaking()
            if (before := self.open(subject)) and (after := self.best.get((subject, defence)))
            if (was := self._way(before)) and (now := self._way(after)) is not None
        ]
        if not pairs:
            return None
        kept = [now / was for *_, was, now in pairs]
        gaps = [gap(after) or 0.0 for _, _, after, *_ in pairs]
        stopped = all(far <= stops(subject.metric) for far, (subject, *_) in zip(gaps, pairs, strict=True))
        costs = [
            cost.mean for _, before, after, *_ in pairs if (cost := self.utility_difference(after, before))
        ]
        sides = {_beyond(subject.metric) for subject, *_ in pairs}
        served = {metric.title for _, _, after, *_ in pairs if (metric := utility_metric(after)) is not None}
        most = pairs[gaps.index(max(gaps))]
        return Verdict(
            defence,
            "stops" if stopped else "hardly" if min(kept) >= HARDLY else "weakens",
            (min(kept), max(kept)),
            max(gaps),
            sum(costs) / len(costs) if costs else None,
            len(kept),
            sides.pop() if len(sides) == 1 else Verdict.beyond,
            served.pop() if len(served) == 1 else "utility",
            most[1:3],
        )

    def _way(self, row: Summary) -> float | None:
        """How far the attack went from the chance level: the normalised gain, or where the scale has no end,
        the distance in its unit."""
        if leakage_of(row.kind).best is not None:
            return self.gain(row)
        distance = gap(row)
        return None if distance is None else max(0.0, distance)


def _beyond(metric: Metric) -> str:
    level = f"the {described(metric.chance).title}" if isinstance(metric.chance, str) else "chance"
    return f"{'above' if metric.higher else 'below'} {level}"


def little(metric: Metric) -> float:
    """`LITTLE` in the unit of the metric."""
    return LITTLE * (DECIBELS if metric.unit == "dB" else 1.0)


def stops(metric: Metric) -> float:
    """`STOPS` in the unit of the metric."""
    return STOPS * (DECIBELS if metric.unit == "dB" else 1.0)


def leak(row: Summary) -> OverSeeds | None:
    """What leaked, by the metric of the row's kind of attack."""
    return row.metrics.get(leakage_of(row.kind).name)


def leaked(row: Summary) -> float:
    """The same, its mean alone; for rows that have one."""
    found = leak(row)
    if found is None:
        raise ValueError(f"{row.attack} on {row.provider} has no figure of leakage")
    return found.mean


def level(rows: Iterable[Summary]) -> float | None:
    """The mean chance level of several rows; None where none has one."""
    found = [value for row in rows if (value := chance(row)) is not None]
    return sum(found) / len(found) if found else None


def measures(metric: Metric) -> list[Metric]:
    """That metric, and where it has one the metric of its chance level."""
    return [metric, described(metric.chance)] if isinstance(metric.chance, str) else [metric]


def utility_metric(row: Summary) -> Metric | None:
    """The first metric of the row that tells what users get."""
    return next((found for name in row.metrics if (found := described(name)).role == "utility"), None)


def utility(row: Summary) -> OverSeeds | None:
    """What users get, by the first such metric of the row."""
    found = utility_metric(row)
    return row.metrics[found.name] if found else None


def beside(row: Summary, metric: Metric) -> list[Metric]:
    """All other metrics of the row that are of the same role."""
    return [
        other for name in row.metrics if (other := described(name)).role == metric.role and other != metric
    ]


def gap(row: Summary) -> float | None:
    """How far the attack is above the chance level, in the unit of its metric; positive is more leakage."""
    found, level = leak(row), chance(row)
    if found is None or level is None:
        return None
    return found.mean - level if leakage_of(row.kind).higher else level - found.mean


def find(results: RunResults) -> Findings:
    """Read the findings off the results; summaries are made from the trials where the results hold none."""
    summaries = results.summaries or summarise(results.trials)
    measured = [row for row in summaries if leak(row) is not None]
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
    return max((row for row in rows if row.budget == budget), key=_strength)


def _strength(row: Summary) -> list[float]:
    """By what attacks are ranked: the metric of the kind, then all others that tell what leaks."""
    first = leakage_of(row.kind)
    return [
        (row.mean(metric.name) or 0.0) * (1 if metric.higher else -1)
        for metric in [first, *beside(row, first)]
    ]


def _undefended(results: RunResults, defences: list[str]) -> str | None:
    """The defence whose chain is empty in the scenario, or the one named ``none``."""
    chains = results.scenario.get("defences")
    if isinstance(chains, dict):
        for name in defences:
            if name in chains and not chains[name]:
                return name
    return "none" if "none" in defences else None
