"""Training history: honesty, curiosity and loss, epoch by epoch."""

from __future__ import annotations

import numpy as np

from leakrange.metrics.numbers import count, percent
from leakrange.report.charts.canvas import Canvas, Key, Picture, dash_of, draw, name_axes, scale_axis, series
from leakrange.report.findings import Findings
from leakrange.scenario.results import ModelResult

__all__ = ["histories"]

SHARES = ("honesty", "curiosity", "accuracy")


def histories(findings: Findings, data: str) -> list[Picture]:
    """Per provider on ``data`` its shares and losses per epoch; thin lines are seeds, thick ones means."""
    models: dict[str, list[ModelResult]] = {}
    for model in findings.results.models:
        if model.data == data and model.history:
            models.setdefault(model.provider, []).append(model)
    pictures = []
    for provider, runs in models.items():
        names = list(dict.fromkeys(name for run in runs for epoch in run.history for name in epoch))
        shares = [name for name in names if any(word in name for word in SHARES) and "loss" not in name]
        losses = [name for name in names if "loss" in name]
        if shares:
            pictures.append(_draw(provider, data, runs, shares, as_share=True))
        if losses:
            pictures.append(_draw(provider, data, runs, losses, as_share=False))
    return pictures


def _draw(provider: str, data: str, runs: list[ModelResult], names: list[str], *, as_share: bool) -> Picture:
    lines = {name: [line for run in runs if len(line := _line(run, name))] for name in names}

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        for index, (name, seeds) in enumerate(lines.items()):
            hue = series(index + 1)
            if len(seeds) > 1:
                for line in seeds:
                    axes.plot(range(1, len(line) + 1), line, color=hue, linewidth=0.8, alpha=0.45)
            mean = _mean(seeds)
            [drawn] = axes.plot(
                range(1, len(mean) + 1), mean, color=hue, linewidth=2, linestyle=dash_of(index),
                marker="o" if len(mean) == 1 else None,
            )  # fmt: skip
            canvas.tip(drawn, f"{_plain(name)}: {_said(mean[-1], as_share)} at the end")
        axes.margins(x=0.02)
        if as_share:
            axes.set_ylim(top=min(1.02, axes.get_ylim()[1] + 0.02))
            scale_axis(axes, "share")
        axes.locator_params(axis="x", integer=True, nbins=6)
        name_axes(axes, "epoch", "share right" if as_share else "loss")

    title = f"{provider}: {'accuracies' if as_share else 'losses'}"
    said = ", ".join(f"{_plain(name)} {_said(_mean(seeds)[-1], as_share)}" for name, seeds in lines.items())
    return Picture(
        title=title,
        svg=draw(f"Training of {title} on {data}; at the last epoch {said}.", paint, height=210),
        note=count(len(runs), "seed"),
        keys=tuple(Key(_plain(name), colour=i + 1, dash=i) for i, name in enumerate(lines)),
    )


def _line(run: ModelResult, name: str) -> list[float]:
    return [epoch[name] for epoch in run.history if name in epoch]


def _mean(seeds: list[list[float]]) -> list[float]:
    """Per epoch the mean of the seeds, as far as all of them went."""
    shortest = min(len(line) for line in seeds)
    return [float(value) for value in np.mean([line[:shortest] for line in seeds], axis=0)]


def _said(value: float, as_share: bool) -> str:
    return percent(value) if as_share else f"{value:.3f}"


def _plain(name: str) -> str:
    return name.replace("_", " ")
