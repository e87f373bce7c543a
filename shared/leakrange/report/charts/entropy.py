"""Entropy of the outputs in bits (HBC, Fig. 8): a curious provider's carry more than the task needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakrange.report.charts.canvas import MUTED, Canvas, Picture, draw, name_axes, scale_axis, series
from leakrange.report.findings import Findings
from leakrange.scenario.results import ModelResult

__all__ = ["entropies"]

Role = tuple[str, str, str, str, str | None]


@dataclass(frozen=True)
class _Histogram:
    shares: list[float]
    top: float
    mean: float | None


def entropies(findings: Findings, data: str) -> list[Picture]:
    """One histogram per provider on ``data``, all seeds together, and the honest one's outline upon it."""
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
    return _Histogram(list(counts / counts.sum()), top, sum(means) / len(means) if means else None)


def _draw(title: str, data: str, histogram: _Histogram, reference: _Histogram | None) -> Picture:
    edges = np.linspace(0, histogram.top, len(histogram.shares) + 1)

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        for left, right, share in zip(edges, edges[1:], histogram.shares, strict=False):
            [bar] = axes.bar(
                left, share, width=right - left, align="edge", color=series(1), alpha=0.75, linewidth=0
            )
            canvas.tip(bar, f"{left:.2f} to {right:.2f} bits: {100 * share:.2f} % of the outputs")
        if reference is not None:
            steps = np.linspace(0, reference.top, len(reference.shares) + 1)
            axes.stairs(reference.shares, steps, color=series(0), linewidth=1.8)
        if histogram.mean is not None:
            axes.axvline(histogram.mean, color=MUTED, linewidth=1.3, linestyle=(0, (3, 3)))
        axes.set_xlim(0, histogram.top)
        axes.set_ylim(0, 1.08 * max([*histogram.shares, *(reference.shares if reference else [])]))
        axes.locator_params(axis="y", nbins=5)
        scale_axis(axes, "share")
        name_axes(axes, f"entropy, bits (at most {histogram.top:.3g})", "share of outputs")

    mean = "" if histogram.mean is None else f"mean {histogram.mean:.3f} bits"
    beside = (
        "" if reference is None or reference.mean is None else f"; honest provider {reference.mean:.3f} bits"
    )
    return Picture(
        title=title,
        svg=draw(f"Histogram of the entropy of the outputs of {title} on {data}: {mean}{beside}.", paint),
        note=mean + beside,
    )
