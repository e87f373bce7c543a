"""Entropy of the outputs in bits (HBC, Fig. 8): a curious provider's outputs carry more than the task
needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakrange.metrics import described
from leakrange.metrics.numbers import count
from leakrange.report.charts.definition import term_of
from leakrange.report.charts.drawing import Axis, Picture, bars, lines, picture, rules
from leakrange.report.findings import Findings
from leakrange.scenario.results import ModelResult
from leakrange.wire.views import Column, Definition, Table, Value

__all__ = ["entropies"]

Role = tuple[str, str, str, str, str | None]


@dataclass(frozen=True)
class _Histogram:
    shares: list[float]
    top: float
    mean: float | None
    seeds: int
    outputs: int


def entropies(findings: Findings, data: str) -> list[Picture]:
    """One histogram per provider on ``data``, all seeds together, with the outline of the honest one's."""
    roles: dict[Role, list[ModelResult]] = {}
    for model in findings.results.models:
        if model.data == data and any(model.entropy_histogram) and model.entropy_max:
            role = (model.provider, model.behaviour, model.release, model.target, model.sensitive)
            roles.setdefault(role, []).append(model)
    honest = {role[3]: _pool(models) for role, models in reversed(roles.items()) if role[1] == "honest"}
    several = {role[0] for role in roles if sum(other[0] == role[0] for other in roles) > 1}
    pictures = []
    for role, models in roles.items():
        reference = None if role[1] == "honest" else honest.get(role[3])
        title = " · ".join([role[0], *([role[2], role[4] or ""] if role[0] in several else [])])
        pictures.append(_draw(title, data, _pool(models), reference))
    return pictures


def _pool(models: list[ModelResult]) -> _Histogram:
    longest = max(len(model.entropy_histogram) for model in models)
    counts = np.zeros(longest)
    for model in models:
        counts[: len(model.entropy_histogram)] += model.entropy_histogram
    means = [model.entropy_mean for model in models if model.entropy_mean is not None]
    top = max(model.entropy_max or 0.0 for model in models)
    mean = sum(means) / len(means) if means else None
    return _Histogram(list(counts / counts.sum()), top, mean, len(models), int(counts.sum()))


def _draw(title: str, data: str, histogram: _Histogram, reference: _Histogram | None) -> Picture:
    edges = np.linspace(0, histogram.top, len(histogram.shares) + 1).tolist()
    columns = [
        {
            "x": left,
            "x2": right,
            "y": share,
            "colour": 1,
            "tip": f"{left:.2f} to {right:.2f} bits: {100 * share:.2f} % of the outputs",
        }
        for left, right, share in zip(edges, edges[1:], histogram.shares, strict=False)
    ]
    tallest = max([*histogram.shares, *(reference.shares if reference else [])])
    x = Axis(f"entropy, bits (at most {histogram.top:.3g})", ends=(0.0, histogram.top))
    y = Axis("share of outputs", "share", ends=(0.0, 1.08 * tallest))
    layers = [bars(columns, x, y)]
    if reference is not None:
        steps = np.linspace(0, reference.top, len(reference.shares) + 1).tolist()
        heights = [0.0, *reference.shares, 0.0]
        outline = [
            {"x": step, "y": height, "line": "", "colour": 0, "tip": "honest provider of the same task"}
            for place, step in enumerate(steps)
            for height in heights[place : place + 2]
        ]
        layers.append(lines(outline, x, y, width=1.8))
    if histogram.mean is not None:
        layers.append(rules([{"x": histogram.mean}], x, None, guide=True))
    mean = "" if histogram.mean is None else f"mean {histogram.mean:.3f} bits"
    beside = (
        "" if reference is None or reference.mean is None else f"; honest provider {reference.mean:.3f} bits"
    )
    return picture(
        title,
        f"Histogram of the entropy of the outputs of {title} on {data}: {mean}{beside}.",
        layers,
        note=mean + beside,
        table=_table(histogram, reference),
        definition=Definition(
            (term_of(described("entropy")),),
            f"{count(histogram.seeds, 'seed')}; {count(histogram.outputs, 'output')} of all seeds together",
            "None: a histogram of all outputs.",
        ),
    )


def _table(histogram: _Histogram, reference: _Histogram | None) -> Table:
    columns = [Column("model"), Column("from", "bits"), Column("to", "bits"), Column.of("outputs", "share")]
    rows: list[list[Value]] = []
    for name, pooled in (("this provider", histogram), ("honest provider", reference)):
        if pooled is not None:
            edges = np.linspace(0, pooled.top, len(pooled.shares) + 1).tolist()
            rows += [[name, *each] for each in zip(edges, edges[1:], pooled.shares, strict=False)]
    return Table(columns, rows)
