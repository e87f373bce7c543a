"""The figures of a run for the texts and charts of its report.

A *subject* is a provider in one role: the data it serves, its release, and the attribute hidden in it, by the
metric that its attacks are judged by. A subject under a defence is judged by all attacks at the largest
finished budget (`leakrange.metrics.verdict`), and represented by the strongest of them: the one that goes
furthest beyond chance, or beyond its control.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from leakrange.attacks.kinds import leakage_of
from leakrange.metrics import Metric, OverSeeds, described, with_unmeasurable
from leakrange.metrics import summarise as over_seeds
from leakrange.metrics.verdict import BOUND, LITTLE, LeakVerdict, Reached, Spread, judge, spread
from leakrange.scenario import labels
from leakrange.scenario.gains import chance, gain, reached
from leakrange.scenario.partial import answers_in, attack_names, hides_confidence, reads_values
from leakrange.scenario.results import RunResults, Summary, TrialResult
from leakrange.scenario.summary import identity, summarise

__all__ = [
    "Findings",
    "Subject",
    "beside",
    "chance",
    "find",
    "gain",
    "gap",
    "leak",
    "leaked",
    "level",
    "measures",
    "utility",
    "utility_metric",
]

T = TypeVar("T")


class Subject(NamedTuple):
    """A provider in one role."""

    data: str
    provider: str
    behaviour: str
    release: str
    target: str
    sensitive: str
    leakage: str
    """The name of the metric of leakage."""

    @classmethod
    def of(cls, row: Summary | TrialResult) -> Subject:
        """The subject of a trial or a summary."""
        leakage = leakage_of(row.kind).name
        return cls(row.data, row.provider, row.behaviour, row.release, row.target, row.sensitive, leakage)

    @property
    def metric(self) -> Metric:
        """The metric of leakage."""
        return described(self.leakage)

    @property
    def honest(self) -> bool:
        """Whether the provider was trained to do its task and nothing else."""
        return self.behaviour == "honest"

    @property
    def family(self) -> str:
        """The provider's behaviour, without its method: honest, curious, and so on."""
        return self.behaviour.partition("/")[0]


@dataclass(frozen=True)
class Findings:
    """The figures that the report is written from. All orders are those of the scenario."""

    results: RunResults
    summaries: list[Summary]
    subjects: list[Subject]
    defences: list[str]
    undefended: str | None
    tried: dict[tuple[Subject, str], list[Summary]]
    """The attacks at the largest budget, per subject and defence, the strongest first."""
    cells: dict[tuple[str | int, ...], list[TrialResult]]
    """All trials by everything they share except the seed, see `identity`."""
    palette: list[str] = field(default_factory=list)
    """All defences of the run, if ``defences`` are only some of them: they keep their colours."""
    little: float = LITTLE
    bound: float = BOUND
    """See `leakrange.metrics.verdict.judge`."""

    @cached_property
    def best(self) -> dict[tuple[Subject, str], Summary]:
        """The strongest attack at the largest budget, per subject and defence. If some are certain to be
        beyond chance, it is the strongest of those."""
        return {
            key: next((row for row in rows if self.sure(row, self.verdicts[key])), rows[0])
            for key, rows in self.tried.items()
        }

    @cached_property
    def verdicts(self) -> dict[tuple[Subject, str], LeakVerdict]:
        """The verdict on each subject under each defence. The strongest attack is chosen among all on
        providers with the same behaviour, since one sentence covers these."""
        candidates: dict[tuple[str, str, str], int] = defaultdict(int)
        reached = {key: [self.reached(row) for row in rows] for key, rows in self.tried.items()}
        for (subject, defence), attacks in reached.items():
            candidates[subject.family, subject.leakage, defence] += sum(not each.constant for each in attacks)
        return {
            (subject, defence): self._of_labels(
                subject,
                defence,
                judge(
                    attacks,
                    candidates[subject.family, subject.leakage, defence],
                    little=self.little,
                    bound=self.bound,
                ),
            )
            for (subject, defence), attacks in reached.items()
        }

    def _of_labels(self, subject: Subject, defence: str, verdict: LeakVerdict) -> LeakVerdict:
        """The verdict, which is no all-clear where a provider answers with labels alone, or a defence hides
        how sure it is, and no attack that was tried is made for labels."""
        chains = self.results.scenario.get("defences")
        hidden = self.answers.get(subject.provider) == "labels" or (
            isinstance(chains, Mapping) and hides_confidence(chains.get(defence))
        )
        if verdict.word != "none" or not hidden:
            return verdict
        names = attack_names(self.results.scenario)
        if all(reads_values(row.kind, names.get(row.attack)) for row in self.tried[subject, defence]):
            return replace(verdict, word="unclear", why="labels")
        return verdict

    @cached_property
    def answers(self) -> dict[str, str]:
        """Providers that answer in part: see `leakrange.scenario.partial.answers_in`."""
        return answers_in(self.results.scenario.get("providers"))

    @cached_property
    def datasets(self) -> list[str]:
        """Data sets of the subjects."""
        return list(dict.fromkeys(subject.data for subject in self.subjects))

    @cached_property
    def metrics(self) -> list[Metric]:
        """All metrics that any trial has, or was too small for, in the order of columns."""
        names = (name for row in self.summaries for name in row.metrics)
        return [described(name) for name in with_unmeasurable(names)]

    @cached_property
    def families(self) -> dict[str, list[Subject]]:
        """The subjects by their providers' behaviour, honest ones first: honest, curious, and so on. Subjects
        of audits are left out: nothing leaks there."""
        leaks = [subject for subject in self.subjects if subject.metric.role != "suspicion"]
        families = {"honest": [subject for subject in leaks if subject.honest]}
        for subject in leaks:
            if not subject.honest:
                families.setdefault(subject.family, []).append(subject)
        return families

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

    def verdict(self, subject: Subject) -> LeakVerdict | None:
        """The verdict on the subject's undefended outputs; None where nothing was tried on them."""
        return self.verdicts.get((subject, self.undefended)) if self.undefended is not None else None

    def reached(self, row: Summary) -> Reached:
        """The distance of an attack beyond chance, or beyond its control."""
        return reached(self.trials(row))

    def sure(self, row: Summary, verdict: LeakVerdict) -> bool:
        """Whether an attack is beyond chance, or its control, with certainty."""
        return self.reached(row).least(verdict.level) > 0.0

    def spread(self, row: Summary, metric: Metric) -> Spread | None:
        """A metric of that row with its uncertainty."""
        estimates = [trial.metrics.get(metric.name) for trial in self.trials(row)]
        return spread([each for each in estimates if each is not None])

    def label(self, subject: Subject) -> str:
        """The provider's name, and the fields that distinguish it from the same provider in another role."""
        twins = [other for other in self.subjects if other.provider == subject.provider]
        apart = {
            name: getattr(subject, name)
            for name in ("data", "release", "target", "sensitive", "leakage")
            if len({getattr(other, name) for other in twins}) > 1
        }
        return labels.in_role(subject.provider, apart)

    def reference(self, subject: Subject) -> Summary | None:
        """The undefended honest provider of the same task; of several, the one of the highest utility."""
        rivals = [
            (used.mean, row)
            for other in self.subjects
            if other.honest and (other.data, other.target) == (subject.data, subject.target)
            if (row := self.open(other)) is not None and (used := utility(row)) is not None
        ]
        return max(rivals, key=lambda pair: pair[0])[1] if rivals else None

    def trials(self, row: Summary) -> list[TrialResult]:
        """The finished trials behind a summary."""
        return [trial for trial in self.cells[identity(row)] if trial.state == "done"]

    def views(self, row: Summary | None, name: str) -> list[Any]:
        """The views of that name that finished trials behind a summary hold; none without a summary."""
        return [] if row is None else [t.views[name] for t in self.trials(row) if name in t.views]

    def utility_difference(self, row: Summary, reference: Summary) -> OverSeeds | None:
        """Utility of ``row`` less that of ``reference``, paired by seed; None where they share no seed."""
        metric = utility_metric(row)
        if metric is None:
            return None
        other = {t.seed: t.value(metric.name) for t in self.trials(reference)}
        pairs = [
            value - base
            for trial in self.trials(row)
            if (value := trial.value(metric.name)) is not None and (base := other.get(trial.seed)) is not None
        ]
        return over_seeds(pairs) if pairs else None

    def scales(self) -> list[Findings]:
        """Copies of these findings, each with the subjects that are judged by one metric: what stops one leak
        may leave the other as it is."""
        groups: dict[str, list[Subject]] = {}
        for subject in self.subjects:
            if subject.metric.role != "suspicion":
                groups.setdefault(subject.leakage, []).append(subject)
        return [replace(self, subjects=subjects) for subjects in groups.values()]

    def leaking(self) -> list[Subject]:
        """The subjects whose undefended outputs leak."""
        return [each for each in self.subjects if (verdict := self.verdict(each)) and verdict.word == "leaks"]

    def way(self, row: Summary) -> float:
        """The distance of an attack beyond chance or its control, in shares; 0 where there is none."""
        return max(0.0, self.reached(row).strength)


def leak(row: Summary) -> OverSeeds | None:
    """The leakage of a row, by the metric of its kind of attack."""
    return row.metrics.get(leakage_of(row.kind).name)


def leaked(row: Summary) -> float:
    """The mean leakage of a row that has one."""
    leakage = leak(row)
    if leakage is None:
        raise ValueError(f"{row.attack} on {row.provider} has no figure of leakage")
    return leakage.mean


def level(rows: Iterable[Summary]) -> float | None:
    """The mean chance level of several rows; None where none has one."""
    levels = [value for row in rows if (value := chance(row)) is not None]
    return sum(levels) / len(levels) if levels else None


def measures(metric: Metric) -> list[Metric]:
    """That metric, and the metric of its chance level where it has one."""
    return [metric, described(metric.chance)] if isinstance(metric.chance, str) else [metric]


def utility_metric(row: Summary) -> Metric | None:
    """The first metric of the row that measures utility for users."""
    return next((metric for name in row.metrics if (metric := described(name)).role == "utility"), None)


def utility(row: Summary) -> OverSeeds | None:
    """The utility for users, by the first such metric of the row."""
    metric = utility_metric(row)
    return row.metrics[metric.name] if metric else None


def beside(row: Summary, metric: Metric) -> list[Metric]:
    """All other metrics of the row that are of the same role."""
    return [
        other for name in row.metrics if (other := described(name)).role == metric.role and other != metric
    ]


def gap(row: Summary) -> float | None:
    """The attack's distance above the chance level, in the unit of its metric; positive is more leakage."""
    leakage, level = leak(row), chance(row)
    if leakage is None or level is None:
        return None
    return leakage.mean - level if leakage_of(row.kind).higher else level - leakage.mean


def find(results: RunResults) -> Findings:
    """The findings of the results; summaries are made from the trials where the results hold none."""
    summaries = results.summaries or summarise(results.trials)
    groups: dict[tuple[Subject, str], list[Summary]] = defaultdict(list)
    for row in summaries:
        if leak(row) is not None and "control" not in row.metrics:
            groups[Subject.of(row), row.defence].append(row)
    cells: dict[tuple[str | int, ...], list[TrialResult]] = defaultdict(list)
    for trial in results.trials:
        cells[identity(trial)].append(trial)
    defences = _ordered(row.defence for row in summaries)
    findings = Findings(
        results=results,
        summaries=summaries,
        subjects=_ordered(Subject.of(row) for row in summaries),
        defences=defences,
        undefended=_undefended(results, defences),
        tried={},
        cells=cells,
    )
    return replace(findings, tried={key: _by_strength(findings, rows) for key, rows in groups.items()})


def _ordered(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


def _by_strength(findings: Findings, rows: list[Summary]) -> list[Summary]:
    """The rows of the largest budget, the strongest first: by the metric of the kind, and then by all other
    metrics of leakage."""
    budget = max(row.budget for row in rows)

    def strength(row: Summary) -> list[float]:
        first = leakage_of(row.kind)
        others = [first, *beside(row, first)]
        reach = findings.reached(row).strength
        return [reach, *((row.mean(each.name) or 0.0) * (1 if each.higher else -1) for each in others)]

    return sorted((row for row in rows if row.budget == budget), key=strength, reverse=True)


def _undefended(results: RunResults, defences: list[str]) -> str | None:
    """The defence whose chain is empty in the scenario, or the one named ``none``."""
    chains = results.scenario.get("defences")
    if isinstance(chains, dict):
        for name in defences:
            if name in chains and not chains[name]:
                return name
    return "none" if "none" in defences else None
