"""A chart as a separate SVG file, for pages that cannot hold one inline."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from leakrange.report.charts.drawing import DASHES, SHAPES, Key, Picture
from leakrange.report.rendering import style

__all__ = ["standalone"]

ROW = 18
FONT = "system-ui, sans-serif"


def standalone(picture: Picture) -> str:
    """The chart on white, in the page's light colours, with its legend above it."""
    view_box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture.svg)
    assert view_box is not None
    width, height = float(view_box[1]), float(view_box[2])
    top = ROW * len(picture.keys) + (6 if picture.keys else 0)
    legend = "".join(_key(key, 14 + ROW * row) for row, key in enumerate(picture.keys))
    inner = picture.svg.replace("<svg ", f'<svg x="0" y="{top}" width="{width:g}" height="{height:g}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height + top:g}" '
        f'width="{width:g}" height="{height + top:g}" font-family="{FONT}">'
        f"<style>:root{{{_light()}}}</style>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>{legend}{inner}</svg>\n'
    )


def _key(key: Key, y: float) -> str:
    hue = "var(--muted)" if key.colour is None else f"var(--s{key.colour % 8})"
    shape = SHAPES[key.marker % len(SHAPES)] if key.marker is not None else ""
    if key.dash is None and shape.startswith("M"):
        mark = f'<path transform="translate(15 {y - 5:g}) scale(6)" d="{shape}" fill="{hue}"/>'
    elif key.dash is None and key.marker is not None:
        corner = 0 if key.marker else 5
        mark = f'<rect x="10" y="{y - 10:g}" width="10" height="10" rx="{corner}" fill="{hue}"/>'
    elif key.dash is None:
        mark = f'<rect x="8" y="{y - 10:g}" width="14" height="10" fill="{hue}"/>'
    else:
        dashes = " ".join(f"{length:g}" for length in DASHES[key.dash % len(DASHES)])
        mark = (
            f'<path d="M4 {y - 5:g}h22" fill="none" stroke="{hue}" stroke-width="2.4" '
            f'stroke-dasharray="{dashes}"/>'
        )
    return f'{mark}<text x="32" y="{y:g}" font-size="12.5" fill="var(--ink)">{escape(key.text)}</text>'


@lru_cache(maxsize=1)
def _light() -> str:
    """The declarations of the page's light colours."""
    sheet = style()
    return " ".join(sheet[sheet.index("{") + 1 : sheet.index("}")].split())
