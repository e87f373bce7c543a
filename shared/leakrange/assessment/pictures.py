"""The pictures of an assessment's document: findings between guessing and certainty, and price lists."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakrange.assessment.document import Assessment, Finding, PriceList, Thresholds
from leakrange.metrics import numbers
from leakrange.metrics.registry import described
from leakrange.report.charts.axis import Axis
from leakrange.report.charts.budgets import budget_axis
from leakrange.report.charts.drawing import Picture, lines, picture, points, rules, texts
from leakrange.report.charts.marks import Layer
from leakrange.report.charts.svg import MUTED
from leakrange.wire.views import Column, Table, Value

__all__ = ["findings_picture", "guessed", "on_axis", "price_picture"]

CHANCE = 0.5
"""The AUC of guessing."""
ROW = 62
"""Pixels of one finding's row: its name and figure, its interval, and the names of the marks."""
MARK_HEIGHT = 20
LAST_LABEL = 0.94
"""Beyond this the name of a limit has no room."""
COLOURS = {"leaks": 0, "passes": 2, "cannot tell": 6}
WIDTH = 360
EDGE = 1.25
"""The axis of samples goes on to so many times the last number, as that of budgets."""
LONGEST = 18
"""Letters of a name that have room beside its verdict and figures."""


def guessed(control: float | None) -> float:
    """The AUC that needs no model: of guessing, or of the control where that is more."""
    return CHANCE if control is None else max(CHANCE, control)


def on_axis(finding: Finding) -> bool:
    """Whether a finding has a figure that lies between guessing (0.5) and certainty (1), such as an AUC."""
    measure = described(finding.metric)
    return finding.value is not None and measure.chance == CHANCE and measure.best == 1.0


def findings_picture(assessment: Assessment) -> Picture:
    """Each finding's figure with its interval, on one axis from guessing to certainty.

    A mark to the left says what can be guessed without the model, and one to the right the limit that no
    interval of a model that passes exceeds: the bound of the thresholds above that. A finding without such a
    figure has its name and no marks.
    """
    findings = assessment.findings
    bound = assessment.plan.thresholds.bound
    drawn = [(str(row), each) for row, each in enumerate(findings) if on_axis(each)]
    figures = [figure for _, each in drawn for figure in (each.value, each.low) if figure is not None]
    left = min([CHANCE, *figures]) - 0.08
    x = Axis("AUC: 0.5 is guessing, 1 is certainty", "score", ends=(left, 1.01), about=6)
    y = Axis("", names=[str(row) for row in range(len(findings))], room=0)
    sentences = [_in_words(each) for each in findings]
    names = [
        {"x": left, "y": str(row), "text": _in_words(each, LONGEST)} for row, each in enumerate(findings)
    ]
    spans = [
        {"x": each.low, "x2": each.high, "y": row, "colour": COLOURS[each.conclusion]}
        for row, each in drawn
        if each.low is not None and each.high is not None
    ]
    dots = [
        {"x": each.value, "y": row, "colour": COLOURS[each.conclusion], "tip": _in_words(each)}
        for row, each in drawn
    ]
    return picture(
        "What attacks found, from guessing to certainty",
        f"What attacks found, and its 95 % intervals. {'; '.join(sentences)}. {_limits(drawn, bound)}",
        [
            *_marks(drawn, bound, x, y),
            rules(spans, x, y, width=5.0),
            points(dots, x, y, size=80),
            texts(names, x, y, down=-18),
        ],
        size=(WIDTH, ROW * max(1, len(findings)) + 54),
        margins=(6, 8, 44, 8),
        table=_table(findings, assessment.plan.thresholds),
    )


def _marks(drawn: Sequence[tuple[str, Finding]], bound: float, x: Axis, y: Axis) -> list[Layer]:
    """What can be guessed and the limit of each row, named where they are not those of the row above."""
    ticks, guesses, limits, before = [], [], [], None
    for row, each in drawn:
        base = guessed(each.control)
        limit = base + bound
        ticks += [{"x": place, "y": row} for place in (base, limit) if place <= 1.0]
        if base != before:
            guesses.append({"x": base, "y": row, "text": "guessing"})
            limits += [{"x": limit, "y": row, "text": "limit"}] if limit <= LAST_LABEL else []
        before = base
    look = {"type": "tick", "orient": "vertical", "thickness": 1.6, "size": MARK_HEIGHT, "color": MUTED}
    return [
        Layer({**look, "aria": False}, {"x": x.x(), "y": y.y()}, (), ticks, x, y),
        texts(guesses, x, y, align="right", right=4, down=21, muted=True),
        texts(limits, x, y, right=-4, down=21, muted=True),
    ]


def _in_words(finding: Finding, longest: int | None = None) -> str:
    about = finding.about
    if longest is not None and len(about) > longest:
        about = f"{about[: longest - 1]}…"
    name = f"{about}: {finding.conclusion}"
    if finding.value is None:
        return f"{name}, no figure"
    unit = described(finding.metric).unit
    figure = numbers.figure(finding.value, unit)
    if finding.low is None or finding.high is None:
        return f"{name}, {figure}"
    return f"{name}, {figure} ({numbers.interval((finding.low, finding.high), unit)})"


def _limits(drawn: Sequence[tuple[str, Finding]], bound: float) -> str:
    return " ".join(
        f"Of {each.about} {numbers.score(guessed(each.control))} can be guessed without the model, and the "
        f"limit is {numbers.score(guessed(each.control) + bound)}."
        for _, each in drawn
    )


def _table(findings: Sequence[Finding], thresholds: Thresholds) -> Table:
    heads = (
        "about",
        "conclusion",
        "attack",
        "metric",
        "value",
        "95 % from",
        "95 % to",
        "without the model",
        "limit",
    )
    rows: list[list[Value]] = []
    for each in findings:
        limit = guessed(each.control) + thresholds.bound if on_axis(each) else None
        figures = [each.value, each.low, each.high, each.control, limit]
        rows.append([each.about, each.conclusion, each.attack, each.metric, *figures])
    return Table([Column(head) for head in heads], rows)


def price_picture(prices: PriceList, bound: float) -> Picture | None:
    """Leakage against samples on a logarithmic axis, with intervals; None where there is no point to draw.

    Dashed across: guessing or the control, and the limit, ``bound`` above it. Dashed upright: the
    samples for nine tenths of the final lead, and the quota.
    """
    drawn = sorted((each for each in prices.points if each.samples > 0), key=lambda each: each.samples)
    if not drawn:
        return None
    base = guessed(prices.control)
    ends = [each for point in drawn for each in (point.low, point.high, point.value) if each is not None]
    x = budget_axis(sorted({each.samples for each in drawn}), "samples (log scale)")
    top = min(1.02, max([base + bound, *ends]) + 0.05)
    y = Axis("AUC", "score", ends=(min([base, *ends]) - 0.03, top))
    texts_of = [f"{numbers.score(each.value)} after {each.samples:,}" for each in drawn]
    rows = [
        {"x": each.samples, "y": each.value, "line": "0", "colour": 0, "tip": text}
        for each, text in zip(drawn, texts_of, strict=True)
    ]
    spread = [
        {"x": each.samples, "y": each.low, "y2": each.high, "colour": 0}
        for each in drawn
        if each.low is not None and each.high is not None
    ]
    across = [(base, "guessing" if prices.control is None else "without the model"), (base + bound, "limit")]
    named = [
        {"x": drawn[-1].samples * EDGE, "y": place, "text": text} for place, text in across if place <= 1.0
    ]
    quotas = {"nine tenths of the lead": prices.enough, "quota": prices.quota}
    upright = [(place, text) for text, place in quotas.items() if place]
    middle = math.sqrt(drawn[0].samples * drawn[-1].samples)
    return picture(
        f"{prices.about}: {prices.attack}",
        f"AUC of {prices.attack} on {prices.about} against samples: {'; '.join(texts_of)}. {prices.sentence}",
        [
            rules([{"y": row["y"]} for row in named], None, y, guide=True),
            rules([{"x": place} for place, _ in upright], x, None, guide=True),
            texts(named, x, y, align="right", right=-2, down=-9, muted=True),
            *(
                texts(
                    [{"x": place, "y": top, "text": text}],
                    x,
                    y,
                    align="right" if place > middle else "left",
                    down=-8 - 14 * row,
                )
                for row, (place, text) in enumerate(reversed(upright))
            ),
            rules(spread, x, y),
            lines(rows, x, y, width=1.8),
            points(rows, x, y, size=46),
        ],
        size=(WIDTH, 250),
        margins=(44, 12, 44, 46),
        note="; ".join(f"{text}: {place:,} samples" for place, text in upright),
        table=Table(
            [Column(name) for name in ("samples", "AUC", "95 % from", "95 % to", "price")],
            [[each.samples, each.value, each.low, each.high, each.money] for each in prices.points],
        ),
    )
