"""Attack success against queries under load, one line a defence, and beside it the speed and the failures of
the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from leakrange.metrics import described
from leakrange.metrics.numbers import figure
from leakrange.report.charts.budgets import budget_axis
from leakrange.report.charts.definition import term_of
from leakrange.report.charts.drawing import Axis, Key, Layer, Picture, beside, lines, points, rules
from leakrange.report.charts.leakage import chance_line
from leakrange.report.findings import Findings, level, measures
from leakrange.report.load_table import LoadTableRow, ends, load_rows
from leakrange.wire.views import Column, Definition, Table

__all__ = ["under_load"]

SUCCESS, LATENCY, SHARES = 330, 190, 130
"""The widths of the panels in pixels."""
NAMES, LETTER = 110, 8
"""Pixels for names, and the approximate number for each letter."""
UNITS = {"budget": "samples", "spent": "samples", "p50": "ms", "p99": "ms"} | dict.fromkeys(
    ("refused", "failed"), "share of 1"
)
COLUMNS = [Column(field.name, UNITS.get(field.name, "")) for field in fields(LoadTableRow)]
END = 6
"""The marker, a cross, of the last point before a limit refused."""


def under_load(findings: Findings) -> list[Picture]:
    """One picture per provider, attack and knowledge; none for a run that was not under load."""
    groups: dict[tuple[str, str, str, str], list[LoadTableRow]] = {}
    for row in load_rows(findings):
        groups.setdefault((row.provider, row.attack, row.knowledge, row.metric), []).append(row)
    return [_draw(findings, rows) for rows in groups.values()]


def _draw(findings: Findings, rows: list[LoadTableRow]) -> Picture:
    first, metric = rows[0], described(rows[0].metric)
    title = f"{first.provider}: {first.attack} ({first.knowledge})"
    defences = [name for name in findings.defences if any(row.defence == name for row in rows)]
    descriptions, refused = [_description(rows, name) for name in defences], _refused(findings, rows)
    panels = [(_success(findings, rows, defences), SUCCESS)]
    served = [next(row for row in rows if row.defence == name) for name in defences]
    served = [row for row in served if row.answered is not None]
    if served:
        panels += [(_latency(findings, served), LATENCY), (_shares(findings, served), SHARES)]
    return beside(
        title,
        f"{metric.title} of {title} against the queries spent under load: {'; '.join(descriptions)}.",
        panels,
        keys=[
            *(Key(name, colour=(i := findings.colour(name)), marker=i, dash=i) for name in defences),
            *(
                Key(
                    f"{name}: a limit refused before the first point",
                    colour=findings.colour(name),
                    marker=END,
                )
                for name in refused
                if name not in defences
            ),
            *([Key("a limit gave no more answers", marker=END)] if refused else []),
            Key("answers: half within (p50), refused requests", marker=0),
            Key("answers: 99 % within (p99), failed requests", marker=1),
        ],
        table=Table(COLUMNS, [list(asdict(row).values()) for row in rows]),
        definition=Definition(
            tuple(term_of(measure) for measure in measures(metric)),
            f"{sum(row.answered or 0 for row in served):,} answered requests of all users",
            "95 % intervals over users and seeds.",
        ),
    )


def _description(rows: list[LoadTableRow], defence: str) -> str:
    line = [row for row in rows if row.defence == defence]
    unit = described(line[0].metric).unit
    text = f"{defence} from {figure(line[0].value, unit)} at {line[0].spent:,.0f}"
    text += f" to {figure(line[-1].value, unit)} at {line[-1].spent:,.0f}"
    last = line[-1]
    if last.p50 is None or last.p99 is None:
        return text
    return f"{text}, answered within {last.p50:.0f} ms (half) and {last.p99:.0f} ms (99 %)"


def _success(findings: Findings, rows: list[LoadTableRow], defences: Sequence[str]) -> list[Layer]:
    metric = described(rows[0].metric)
    summaries = [
        row
        for row in findings.summaries
        if (row.provider, row.attack, row.knowledge) == (rows[0].provider, rows[0].attack, rows[0].knowledge)
    ]
    chance = level(summaries)
    values = [value for row in rows for value in (row.value, row.low, row.high) if value is not None]
    values += [] if chance is None else [chance]
    room = 0.08 * (max(values) - min(values)) or 0.05
    low, high = min(values) - room, max(values) + room
    if metric.best is not None:
        low, high = max(low, -0.02), min(high, 1.02)
    x = budget_axis(sorted({max(1, round(row.spent)) for row in rows}), "queries spent, samples (log scale)")
    y = Axis(metric.title, metric.unit, ends=(low, high))
    dots, spread, stops = [], [], []
    refused = _refused(findings, rows)
    for defence in defences:
        index = findings.colour(defence)
        look = {"line": defence, "colour": index, "marker": index, "dash": index}
        for row in (row for row in rows if row.defence == defence):
            tip = f"{defence}: {figure(row.value, metric.unit)} with {row.spent:,.0f} queries"
            dots.append({"x": row.spent, "y": row.value, "tip": tip, **look})
            if row.low is not None and row.high is not None:
                spread.append({"x": row.spent, "y": row.low, "y2": row.high, "colour": index})
        if defence in refused:
            last = [row for row in rows if row.defence == defence][-1]
            tip = f"{defence} ends here: {refused[defence]}"
            stops.append({"x": last.spent, "y": last.value, "tip": tip, "colour": index, "marker": END})
    layers = [] if chance is None else [chance_line(chance, y)]
    layers += [rules(spread, x, y)] if spread else []
    layers += [lines(dots, x, y, width=1.8), points(dots, x, y, size=42)]
    return [*layers, points(stops, x, y, size=130)] if stops else layers


def _refused(findings: Findings, rows: list[LoadTableRow]) -> dict[str, str]:
    """The reason, by defence, why its line ends before the largest budget."""
    attacker = (rows[0].provider, rows[0].attack, rows[0].knowledge)
    return {defence: why for (*who, defence), why in ends(findings).items() if tuple(who) == attacker}


def _latency(findings: Findings, served: Sequence[LoadTableRow]) -> list[Layer]:
    """The time to half and to 99 % of the answers, on a line a defence."""
    ends = [value for row in served for value in (row.p50, row.p99) if value]
    x = Axis(
        "answered within, ms (log scale)",
        ends=(min(ends, default=1.0) / 1.5, max(ends, default=1.0) * 1.5),
        log=True,
        about=4,
    )
    names = [row.defence for row in served]
    y = Axis("", names=names, room=max(NAMES, LETTER * max(map(len, names))))
    between, marks = [], []
    for row in served:
        index = findings.colour(row.defence)
        if row.p50 and row.p99:
            between.append({"x": row.p50, "x2": row.p99, "y": row.defence, "colour": index})
        for marker, value, part in ((0, row.p50, "half"), (1, row.p99, "99 %")):
            if value:
                tip = f"{row.defence}: {part} of the answers within {value:.0f} ms"
                marks.append({"x": value, "y": row.defence, "colour": index, "marker": marker, "tip": tip})
    return [rules(between, x, y), points(marks, x, y, size=50)]


def _shares(findings: Findings, served: Sequence[LoadTableRow]) -> list[Layer]:
    """Refused and failed requests, as shares of all, on the same lines."""
    marks: list[dict[str, Any]] = []
    for row in served:
        for marker, value, outcome in ((0, row.refused, "refused"), (1, row.failed, "failed")):
            tip = f"{row.defence}: {figure(value, 'share')} {outcome}"
            look = {"colour": findings.colour(row.defence), "marker": marker, "tip": tip}
            marks.append({"x": value or 0.0, "y": row.defence, **look})
    most = max((mark["x"] for mark in marks), default=0.0)
    x = Axis("refused, failed", "share", ends=(-0.004, max(0.05, 1.1 * most)), about=3)
    y = Axis("", names=[row.defence for row in served], room=0)
    return [points(marks, x, y, size=50)]
