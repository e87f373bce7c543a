"""The strongest attackers on a defence, by their knowledge of it."""

from __future__ import annotations

from typing import Literal

from leakrange.metrics import Metric
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.results import Summary

__all__ = ["Adapted", "attackers"]

Adapted = Literal["plain", "adaptive"]
"""An attacker fitted on undefended releases is plain, one fitted to the defence is adaptive. Where there is
no defence, there is nothing to adapt to, and all are plain."""


def attackers(findings: Findings, subject: Subject, defence: str, by: Metric) -> dict[Adapted, Summary]:
    """The strongest plain and the strongest adaptive attacker, each at its largest finished budget, by the
    mean of that metric. A kind without such a figure is left out."""
    strongest: dict[Adapted, Summary] = {}
    kinds: tuple[Adapted, ...] = ("plain", "adaptive")
    for kind in kinds:
        rows = [
            row
            for row in findings.summaries
            if row.defence == defence and by.name in row.metrics and Subject.of(row) == subject
            if (row.knowledge == "unaware" or defence == findings.undefended) == (kind == "plain")
        ]
        if rows:
            top = max(row.budget for row in rows)
            sign = 1 if by.higher else -1
            strongest[kind] = max(
                (row for row in rows if row.budget == top), key=lambda row: sign * row.metrics[by.name].mean
            )
    return strongest
