"""Clouds of points side by side, as SVG that follows the page's theme."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from leakrange.report.charts.decimation import of_cloud
from leakrange.report.charts.picture import Picture

__all__ = ["Cloud", "Panels"]

ACROSS = 3
SIDE = 168.0
GAP = 12.0
HEAD = 20.0
TEXT = 12.5
LETTERS = 24
"""The approximate number of letters that fit above a panel."""
RADIUS = 2.3
MOST = 2000
"""The most points of a cloud that are drawn."""
MARGIN = 6.0


@dataclass(frozen=True)
class Cloud:
    """Points (x, y) under a name, each with the number of its colour."""

    name: str
    points: Sequence[tuple[float, float]]
    colours: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Panels(Picture):
    """Clouds in rows of three, each in a frame that it fills; their axes mean nothing and are left out."""

    clouds: tuple[Cloud, ...]

    @cached_property
    def svg(self) -> str:
        """The panels as an SVG element for a page."""
        root = ET.Element("svg", {"role": "img", "aria-label": self.label, "class": "chart"})
        for place, cloud in enumerate(self.clouds):
            down, across = divmod(place, ACROSS)
            _panel(root, cloud, across * (SIDE + GAP), down * (HEAD + SIDE + GAP))
        columns, rows = min(ACROSS, len(self.clouds)), -(-len(self.clouds) // ACROSS)
        size = columns * (SIDE + GAP) - GAP, rows * (HEAD + SIDE + GAP) - GAP
        root.set("viewBox", f"0 0 {size[0]:g} {size[1]:g}")
        return ET.tostring(root, encoding="unicode")


def _panel(root: ET.Element, cloud: Cloud, left: float, top: float) -> None:
    text = {"x": f"{left:g}", "y": f"{top + HEAD - 6:g}", "fill": "var(--ink)", "font-size": f"{TEXT:g}"}
    name = ET.SubElement(root, "text", text)
    name.text = cloud.name if len(cloud.name) <= LETTERS else cloud.name[: LETTERS - 1] + "…"
    if name.text != cloud.name:
        ET.SubElement(name, "title").text = cloud.name
    place = {"x": f"{left:g}", "y": f"{top + HEAD:g}", "width": f"{SIDE:g}", "height": f"{SIDE:g}"}
    ET.SubElement(root, "rect", {**place, "fill": "none", "stroke": "var(--line)"})
    across, up = (_within(column) for column in zip(*cloud.points, strict=True))
    for point in of_cloud(across, up, MOST):
        x, y, colour = across[point], up[point], cloud.colours[point]
        spot = {"cx": f"{left + x:.1f}", "cy": f"{top + HEAD + SIDE - y:.1f}", "r": f"{RADIUS:g}"}
        ET.SubElement(root, "circle", {**spot, "fill": f"var(--s{colour % 8})", "fill-opacity": "0.75"})


def _within(values: Sequence[float]) -> list[float]:
    """The values spread between the margins of a panel."""
    low, span = min(values), max(values) - min(values) or 1.0
    return [MARGIN + (value - low) / span * (SIDE - 2 * MARGIN) for value in values]
