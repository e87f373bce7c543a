"""Draws a Vega-Lite specification as inline SVG that follows the page's light or dark theme.

vl-convert draws without a browser and without a network. In its SVG, placeholder colours become CSS
variables, texts get the page's font, and everything that is not visible is removed.
"""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from typing import Any

__all__ = ["INK", "LINE", "MUTED", "PLACEHOLDERS", "SERIES", "draw"]

INK, MUTED, LINE = "#000001", "#000002", "#000003"
SERIES = tuple(f"#0000a{i}" for i in range(8))
PLACEHOLDERS = {INK: "--ink", MUTED: "--muted", LINE: "--line"} | {
    hue: f"--s{i}" for i, hue in enumerate(SERIES)
}
_SVG = "{http://www.w3.org/2000/svg}"
_KEPT = {
    "clip-path", "clip-rule", "cx", "cy", "d", "dx", "dy", "fill", "fill-opacity", "font-size", "height",
    "id", "opacity", "points", "r", "rx", "ry", "stroke", "stroke-dasharray", "stroke-opacity",
    "stroke-width", "text-anchor", "transform", "width", "x", "x1", "x2", "y", "y1", "y2",
}  # fmt: skip
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")


def draw(specification: dict[str, Any], label: str) -> str:
    """The chart as an SVG element; ``label`` describes it in words for those who cannot see it. The same
    chart gives the same text."""
    # The library brings a JavaScript engine: it is loaded where something is drawn.
    import vl_convert

    written = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    root = ET.fromstring(written)
    viewed = root.attrib["viewBox"]
    _prune(root)
    clips = [element for element in root.iter() if "id" in element.attrib]
    digest = hashlib.sha256(label.encode() + repr(specification).encode()).hexdigest()[:8]
    names = {clip.attrib["id"]: f"c{digest}-{place}" for place, clip in enumerate(clips)}
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        _tidy(element, names)
    root.attrib = {"viewBox": viewed, "role": "img", "aria-label": label, "class": "chart"}
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _prune(parent: ET.Element) -> None:
    """Remove everything that shows nothing: frames, hidden labels, empty groups."""
    for child in list(parent):
        _prune(child)
        kind = child.attrib.get("class", "")
        frame = child.tag == f"{_SVG}path" and ("background" in kind or "foreground" in kind)
        hidden = child.attrib.get("opacity") == "0" or child.attrib.get("display") == "none"
        empty = child.tag == f"{_SVG}g" and not len(child)
        if frame or hidden or empty:
            parent.remove(child)


def _tidy(element: ET.Element, names: dict[str, str]) -> None:
    attributes = element.attrib
    tip = attributes.get("aria-label") if attributes.get("role") == "graphics-symbol" else None
    visible = {
        name: value
        for name, value in attributes.items()
        if name in _KEPT and (name, value) != ("opacity", "1")
    }
    for name, value in visible.items():
        if value in PLACEHOLDERS:
            visible[name] = f"var({PLACEHOLDERS[value]})"
        elif name == "id":
            visible[name] = names[value]
        elif name == "clip-path":
            visible[name] = f"url(#{names[value[5:-1]]})"
        elif name in ("d", "points", "transform", "x", "y", "x1", "x2", "y1", "y2"):
            visible[name] = _LONG.sub(_short, value)
    element.attrib = visible
    if tip is not None:
        visible["class"] = "tip"
        title = ET.Element("title")
        title.text = tip
        element.insert(0, title)


def _short(number: re.Match[str]) -> str:
    """A coordinate to a hundredth of a pixel."""
    return f"{float(number[0]):.2f}"
