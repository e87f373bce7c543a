"""What the report of a run, its pages and its views as data all show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from leakrange.report.answer import caveats, sentences
from leakrange.report.charts.picture import Picture
from leakrange.report.findings import Findings
from leakrange.report.glance import Row, glance
from leakrange.report.narrowed import ALL, Narrowing, choices, narrowed
from leakrange.report.sections import Section, chart_sections
from leakrange.report.tiles import Tile, tiles
from leakrange.scenario.results import RunResults
from leakrange.wire.views import Choices

__all__ = ["Contents", "read"]


@dataclass(frozen=True)
class Contents:
    """Of a run, or of some of its trials. ``choices`` are of the whole run."""

    findings: Findings
    sentences: list[str]
    caveats: list[str]
    tiles: list[Tile]
    glance: dict[str, list[Row]]
    sections: list[Section]
    choices: Choices
    narrowing: Narrowing = ALL

    @property
    def results(self) -> RunResults:
        """What all of it is from."""
        return self.findings.results

    @property
    def states(self) -> dict[str, int]:
        """How many trials there are by state."""
        states = [trial.state for trial in self.results.trials]
        return {
            state: states.count(state)
            for state in ("done", "running", "queued", "failed", "refused", "cancelled")
            if state in states
        }

    @property
    def endless(self) -> list[str]:
        """The titles of the metrics that attacks are judged by and that have no best value."""
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


def read(results: RunResults, narrowing: Narrowing = ALL) -> Contents:
    """The contents at any state of a run: they say what has not been measured, and draw no empty charts."""
    findings = narrowed(results, narrowing)
    return Contents(
        findings=findings,
        sentences=sentences(findings),
        caveats=caveats(findings),
        tiles=tiles(findings),
        glance=glance(findings),
        sections=chart_sections(findings),
        choices=choices(results),
        narrowing=narrowing,
    )
