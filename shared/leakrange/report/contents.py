"""The common contents of a run's report, its pages and its views as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from leakrange.report.answer import sentences
from leakrange.report.caveats import caveats
from leakrange.report.charts.picture import Picture
from leakrange.report.findings import Findings
from leakrange.report.glance import GlanceRow, glance
from leakrange.report.headline import Headline, headline
from leakrange.report.narrowed import ALL, Narrowing, choices, narrowed, part_sentence
from leakrange.report.sections import Section, chart_sections
from leakrange.report.tiles import tiles
from leakrange.scenario.results import RunResults
from leakrange.wire.views import Choices, Tile

__all__ = ["Contents", "read"]


@dataclass(frozen=True)
class Contents:
    """The contents for a run, or for some of its trials. ``choices`` are those of the whole run."""

    findings: Findings
    headline: Headline
    sentences: list[str]
    caveats: list[str]
    tiles: list[Tile]
    glance: dict[str, list[GlanceRow]]
    sections: list[Section]
    choices: Choices
    narrowing: Narrowing = ALL
    part: str = ""
    """Says which part of the run it is about; empty where it is the whole."""

    @property
    def results(self) -> RunResults:
        """The results that all of it comes from."""
        return self.findings.results

    @property
    def states(self) -> dict[str, int]:
        """The number of trials by state."""
        states = [trial.state for trial in self.results.trials]
        return {
            state: states.count(state)
            for state in ("done", "running", "queued", "failed", "refused", "cancelled")
            if state in states
        }

    @property
    def endless(self) -> list[str]:
        """The titles of the attacks' metrics that have no best value."""
        judged = dict.fromkeys(subject.metric for subject in self.findings.subjects)
        return [metric.title for metric in judged if metric.best is None]

    @cached_property
    def pictures(self) -> dict[str, Picture]:
        """All charts by name."""
        return {
            picture.name: picture
            for section in self.sections
            for group in section.groups
            for picture in group.pictures
        }


def read(
    results: RunResults,
    narrowing: Narrowing = ALL,
    every: Choices | None = None,
    trials: int | None = None,
) -> Contents:
    """The contents at any state of a run: they name what has not been measured, and draw no empty charts.
    ``every`` and ``trials``: the choices of the whole run and the number of its trials, where ``results`` has
    a part of it: what is left by the narrowing, or the largest budgets."""
    findings = narrowed(results, narrowing)
    whole = len(results.trials) if trials is None else trials
    return Contents(
        findings=findings,
        headline=headline(findings),
        sentences=sentences(findings),
        caveats=caveats(findings),
        tiles=tiles(findings),
        glance=glance(findings),
        sections=chart_sections(findings),
        choices=every or choices(results),
        narrowing=narrowing,
        part=part_sentence(narrowing, len(findings.results.trials), whole),
    )
