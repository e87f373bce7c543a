"""Distributions: the values of the statistic that an attack on members used, among members and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakrange.report.charts.drawing import Axis, Key, Picture, bars, picture
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Definition, Table, Term

__all__ = ["distribution"]


def distribution(
    title: str, statistic: str, members: Sequence[float], others: Sequence[float], note: str = ""
) -> Picture:
    """Densities of a ``statistic`` among members and others (FACELEAKS, Figure 4). The highest hundredth is
    drawn at the end of the axis."""
    low, high = (float(end) for end in np.quantile([*members, *others], [0.0, 0.99]))
    edges = np.linspace(low, high, 25)
    rows: list[dict[str, Any]] = []
    for place, (who, values) in enumerate((("members", members), ("others", others))):
        counts, _ = np.histogram(np.clip(values, low, high), bins=edges)
        heights = counts / (len(values) * np.diff(edges))
        for left, right, height, count in zip(edges, edges[1:], heights, counts, strict=False):
            tip = f"{count} of {len(values)} {who}"
            bar = {"x": float(left), "x2": float(right), "y": float(height), "tip": tip}
            rows.append({**bar, "colour": place + 1})
    y = Axis("density", ends=(0.0, 1.05 * max(row["y"] for row in rows)), ticks=())
    return picture(
        title,
        f"{title}: {statistic} of {len(members)} members and {len(others)} others",
        [bars(rows, Axis(statistic, ends=(low, high)), y, opacity=0.55)],
        keys=(Key("members", colour=1), Key("others", colour=2)),
        note=note,
        table=Table(
            [Column("who"), Column(statistic)],
            [[who, value] for who, values in (("member", members), ("other", others)) for value in values],
        ),
        definition=Definition(
            (Term(statistic, "the statistic of the attack; a bar is count / (n · width) of its group"),),
            f"{len(members):,} members and {len(others):,} others, of one seed",
            "None: every record is counted.",
        ),
    )


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    row = findings.open(subject)
    samples = findings.views(row, "distribution")
    if row is None or not samples or len(set(samples[0]["members"] + samples[0]["others"])) < 2:
        return None
    note = f"{row.attack} ({row.knowledge}); budget {row.budget}; seed {findings.trials(row)[0].seed}"
    return distribution(findings.label(subject), **samples[0], note=note)


views.register("distribution")(
    View(
        "Distribution",
        "The statistic that the strongest attack on undefended outputs used, at the largest budget and under "
        "the first seed: its values among members and others. The less they overlap, the more it tells.",
        _draw,
    )
)
