"""Training history: utility, leakage and loss, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from leakrange.metrics import described, metrics
from leakrange.metrics.numbers import count, figure
from leakrange.metrics.registry import Unit
from leakrange.report.charts.definition import term_of
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points
from leakrange.report.findings import Findings
from leakrange.scenario.results import ModelResult
from leakrange.wire.views import Column, Definition, Table, Term

__all__ = ["histories"]

SHARES = ("honesty", "curiosity", "accuracy")


def histories(findings: Findings, data: str) -> list[Picture]:
    """For each provider on ``data`` its shares and losses per epoch; thin lines are seeds, thick ones
    means."""
    models: dict[str, list[ModelResult]] = {}
    for model in findings.results.models:
        if model.data == data and model.history:
            models.setdefault(model.provider, []).append(model)
    pictures = []
    for provider, runs in models.items():
        names = list(dict.fromkeys(name for run in runs for epoch in run.history for name in epoch))
        pictures += [_draw(provider, data, runs, *group) for group in _groups(names)]
    return pictures


def _groups(names: list[str]) -> Iterator[tuple[list[str], str, Axis]]:
    """The parts of a history that are drawn together: names, heading, and the axis of their values."""
    losses = [name for name in names if "loss" in name]
    shares = [name for name in names if any(word in name for word in SHARES) and name not in losses]
    if shares:
        yield shares, "accuracies", Axis("share right", "share")
    if losses:
        yield losses, "losses", Axis("loss")
    for name in names:
        if name in metrics and name not in [*shares, *losses]:
            yield [name], metrics[name].title, Axis(metrics[name].title, metrics[name].unit)


def _draw(
    provider: str, data: str, runs: list[ModelResult], names: list[str], heading: str, values_on: Axis
) -> Picture:
    thick: list[dict[str, Any]] = []
    thin: list[dict[str, Any]] = []
    texts = []
    longest, unit = 1, values_on.unit
    for index, name in enumerate(names):
        seeds = [
            line for run in runs if (line := [figures[name] for figures in run.history if name in figures])
        ]
        mean = _mean(seeds)
        longest = max(longest, len(mean))
        text = f"{_plain(name)} {f'{mean[-1]:.3f}' if unit == 'number' else figure(mean[-1], unit)}"
        look = {"colour": index + 1, "dash": index}
        thick += [{**point, **look, "line": name, "tip": f"{text} at the end"} for point in _points(mean)]
        for place, line in enumerate(seeds if len(seeds) > 1 else []):
            thin += [{**point, "colour": index + 1, "line": f"{name}, {place}"} for point in _points(line)]
        texts.append(text)
    values = [point["y"] for point in (*thick, *thin)]
    pad = 0.05 * (max(values) - min(values)) or 0.05
    top = max(values) + pad
    ends = (min(values) - pad, min(1.02, top) if unit == "share" else top)
    margin = 0.02 * (longest - 1) or 0.5
    x = Axis("epoch", "count", ends=(1 - margin, longest + margin), ticks=_epochs(longest))
    y = replace(values_on, ends=ends)
    layers = [lines(thin, x, y, width=0.8, faint=True), lines(thick, x, y)]
    if longest == 1:
        layers.append(points(thick, x, y))
    title = f"{provider}: {heading}"
    return picture(
        title,
        f"Training of {title} on {data}; at the last epoch {', '.join(texts)}.",
        layers,
        size=(300, 210),
        note=count(len(runs), "seed"),
        keys=[Key(_plain(name), colour=i + 1, dash=i) for i, name in enumerate(names)],
        table=_table(runs, names, unit),
        definition=Definition(
            tuple(term_of(described(n)) if n in metrics else Term(_plain(n), "") for n in names),
            count(len(runs), "seed"),
            "None: thin lines are single seeds, the thick one is their mean.",
        ),
    )


def _table(runs: list[ModelResult], names: list[str], unit: Unit) -> Table:
    columns = [Column("seed"), Column("epoch"), *(Column.of(_plain(name), unit) for name in names)]
    rows = [
        [run.seed, epoch, *(figures.get(name) for name in names)]
        for run in runs
        for epoch, figures in enumerate(run.history, start=1)
    ]
    return Table(columns, rows)


def _points(line: list[float]) -> list[dict[str, Any]]:
    return [{"x": epoch, "y": value} for epoch, value in enumerate(line, start=1)]


def _epochs(longest: int) -> list[int]:
    """At most six epochs to mark, the last among them."""
    step = -(-longest // 6)
    return [*range(longest, 0, -step)]


def _mean(seeds: list[list[float]]) -> list[float]:
    """The mean of the seeds in each epoch that all of them reached."""
    shortest = min(len(line) for line in seeds)
    return [float(value) for value in np.mean([line[:shortest] for line in seeds], axis=0)]


def _plain(name: str) -> str:
    return name.replace("_", " ")
