"""Pictures side by side in strips, one strip above the other, as SVG that follows the page's theme."""

from __future__ import annotations

import base64
import struct
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leakrange.report.charts.picture import Picture
from leakrange.wire.views import Strip

__all__ = ["StripGallery", "tile_of"]

WIDTH = 360.0
TILE = 72.0
"""The greatest width, in pixels, of one picture of a strip."""
TEXT = 12.5
LINE = 17.0
LETTER = 6.9
"""The approximate width of a letter of that size, in pixels."""
GAP = 9.0
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def tile_of(strip: Strip) -> tuple[float, float]:
    """Width and height of one picture of the strip in pixels of the page; raises `ValueError` where it is no
    PNG, or has no pictures."""
    try:
        head = base64.b64decode(strip.png, validate=True)[:24]
    except ValueError:
        head = b""
    if len(head) < 24 or not head.startswith(SIGNATURE) or not strip.tips:
        raise ValueError(f"the strip {strip.name!r} is no PNG with a tip for each picture")
    width, height = struct.unpack(">II", head[16:])
    across = min(TILE, WIDTH / len(strip.tips))
    return across, across * height * len(strip.tips) / width


@dataclass(frozen=True, kw_only=True)
class StripGallery(Picture):
    """Strips in the order from the top."""

    strips: tuple[Strip, ...]
    kind = "gallery"

    def _drawn_from(self) -> dict[str, Any]:
        return {"strips": list(self.strips)}

    @cached_property
    def svg(self) -> str:
        """The strips as an SVG element for a page."""
        root = ET.Element("svg", {"role": "img", "aria-label": self.label, "class": "chart gallery"})
        y = 0.0
        for strip in self.strips:
            y = _strip(root, strip, y)
        root.set("viewBox", f"0 0 {WIDTH:g} {y:g}")
        return ET.tostring(root, encoding="unicode")


def _strip(root: ET.Element, strip: Strip, y: float) -> float:
    """Draw a strip from ``y`` downwards; gives the place where the next begins."""
    together = LETTER * (len(strip.name) + len(strip.beside) + 2) <= WIDTH
    y += LINE
    _text(root, strip.name, {"x": "0", "fill": "var(--ink)", "font-weight": "600"}, y)
    if strip.beside:
        y += 0.0 if together else LINE
        placed = {"x": f"{WIDTH:g}", "text-anchor": "end"} if together else {"x": "0"}
        _text(root, strip.beside, {**placed, "fill": "var(--muted)"}, y)
    y += 5.0
    across, high = tile_of(strip)
    count = len(strip.tips)
    image = {"href": f"data:image/png;base64,{strip.png}", "style": "image-rendering:pixelated"}
    image |= {"y": f"{y:g}", "width": f"{across * count:g}", "height": f"{high:g}"}
    ET.SubElement(root, "image", {**image, "preserveAspectRatio": "none"})
    for place, tip in enumerate(strip.tips):
        # A frame in the colour of the page parts a picture from its neighbours.
        frame = {"x": f"{across * place:g}", "y": f"{y:g}", "width": f"{across:g}", "height": f"{high:g}"}
        look = {"class": "tip", "fill": "transparent", "stroke": "var(--card)", "stroke-width": "2"}
        ET.SubElement(ET.SubElement(root, "rect", {**frame, **look}), "title").text = tip
    return y + high + GAP


def _text(root: ET.Element, text: str, look: dict[str, str], y: float) -> None:
    longest = int(WIDTH / LETTER)
    element = ET.SubElement(root, "text", {**look, "y": f"{y - 3:g}", "font-size": f"{TEXT:g}"})
    element.text = text if len(text) <= longest else text[: longest - 1] + "…"
    if len(text) > longest:
        ET.SubElement(element, "title").text = text
