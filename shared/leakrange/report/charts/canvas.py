"""Drawing one small chart as inline SVG that follows the page's light or dark colours.

Matplotlib draws with stand-in colours, which are exchanged for CSS variables; text stays text in the page's
font, one unit is one pixel, and nothing user-written is read as a formula or as mark-up. No chart needs
anything outside itself.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from leakrange.metrics.registry import Unit

__all__ = [
    "DASHES",
    "MARKERS",
    "Canvas",
    "Key",
    "Picture",
    "dash_of",
    "draw",
    "faint",
    "marker_of",
    "name_axes",
    "scale_axis",
    "series",
]

INK, MUTED, LINE = "#000001", "#000002", "#000003"
SERIES = tuple(f"#0000a{i}" for i in range(8))
_VARIABLES = {INK: "--ink", MUTED: "--muted", LINE: "--line"} | {
    hue: f"--s{i}" for i, hue in enumerate(SERIES)
}

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (5, 2),
    (1.5, 1.8),
    (7, 2, 1.5, 2),
    (3, 3),
    (9, 3),
    (1.5, 3),
    (5, 2, 1.5, 2, 1.5, 2),
)

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "leakrange",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "path.simplify": True,
    "font.size": 12.5,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 12.5,
    "axes.labelpad": 5,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 12.5,
    "ytick.labelsize": 12.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.alpha": 0.55,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
}
_ONE_AT_A_TIME = threading.Lock()  # the style is process-wide while a chart is drawn
_LONG = re.compile(r"-?\d+\.\d{3,}")
_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


@dataclass(frozen=True)
class Key:
    """One entry of a legend: its text, and the colour, marker or dash that stands for it."""

    text: str
    colour: int | None = None
    marker: int | None = None
    dash: int | None = None


@dataclass(frozen=True)
class Picture:
    """A finished chart: a heading, the SVG, and what a reader needs beside it."""

    title: str
    svg: str
    note: str = ""
    keys: tuple[Key, ...] = ()


@dataclass
class Canvas:
    """A figure under way; ``tip`` gives a mark the text that appears when one points at it."""

    figure: Figure
    axes: Axes
    tips: list[str] = field(default_factory=list)

    def tip(self, artist: Artist, text: str) -> None:
        """Show ``text`` when the pointer rests on ``artist``."""
        artist.set_gid(f"tip-{len(self.tips)}")
        self.tips.append(text)


def series(index: int) -> str:
    """The stand-in colour of series ``index``; beyond eight they start again."""
    return SERIES[index % len(SERIES)]


def marker_of(index: int) -> str:
    """The marker of series ``index``."""
    return MARKERS[index % len(MARKERS)]


def dash_of(index: int) -> tuple[float, tuple[float, ...]] | str:
    """The line style of series ``index``; 0 is solid."""
    dash = DASHES[index % len(DASHES)]
    return (0, dash) if dash else "-"


def faint(axes: Axes, position: float, *, across: bool = True) -> None:
    """A dashed reference line, horizontal or (``across`` False) vertical."""
    line = axes.axhline if across else axes.axvline
    line(position, color=MUTED, linewidth=1.2, linestyle=(0, (3, 3)), zorder=1.5)


def name_axes(axes: Axes, x: str, y: str) -> None:
    """Name the axes: x below it, y above its upper end, where it can be read without turning the head."""
    axes.set_xlabel(x)
    axes.annotate(y, (0, 1), (-40, 12), xycoords="axes fraction", textcoords="offset points", color=MUTED)


def scale_axis(axes: Axes, unit: Unit, *, x: bool = False) -> None:
    """Write the ticks of the y (or x) axis in that unit, shares in percent."""

    def text(value: float, _position: int) -> str:
        return f"{100 * value:.4g} %" if unit == "share" else f"{value:.4g}"

    (axes.xaxis if x else axes.yaxis).set_major_formatter(FuncFormatter(text))


@contextmanager
def _style() -> Iterator[None]:
    with _ONE_AT_A_TIME, matplotlib.rc_context(_STYLE):  # type: ignore[arg-type,unused-ignore]
        yield


def draw(
    label: str,
    paint: Callable[[Canvas], None],
    *,
    width: int = 300,
    height: int = 230,
    margins: tuple[int, int, int, int] = (30, 12, 44, 46),
) -> str:
    """Let ``paint`` fill a canvas of ``width`` × ``height`` pixels as SVG that ``label`` puts into words.

    ``margins`` are top, right, bottom and left of the axes, in pixels.
    """
    top, right, bottom, left = margins
    with _style():
        figure = Figure(figsize=(width / 72, height / 72))
        axes = figure.add_axes(
            (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
        )
        canvas = Canvas(figure, axes)
        paint(canvas)
        written = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    return _inline(written.getvalue(), label, canvas.tips)


def _inline(document: bytes, label: str, tips: list[str]) -> str:
    root = ET.fromstring(document)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label, "class": "chart"}
    used = {
        element.attrib[f"{_XLINK}href"][1:] for element in root.iter() if f"{_XLINK}href" in element.attrib
    }
    used |= {element.attrib["clip-path"][5:-1] for element in root.iter() if "clip-path" in element.attrib}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}style":
                parent.remove(child)
    prefix = f"c{hashlib.sha256(label.encode() + document).hexdigest()[:8]}-"
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        _tidy(element, used, prefix, tips)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _tidy(element: ET.Element, used: set[str], prefix: str, tips: list[str]) -> None:
    attributes = element.attrib
    name = attributes.pop("id", "")
    if name in used:
        attributes["id"] = prefix + name
    elif name.startswith("tip-"):
        title = ET.Element("title")
        title.text = tips[int(name[4:])]
        element.insert(0, title)
        attributes["class"] = "tip"
    if f"{_XLINK}href" in attributes:
        attributes["href"] = "#" + prefix + attributes.pop(f"{_XLINK}href")[1:]
    if "clip-path" in attributes:
        attributes["clip-path"] = f"url(#{prefix}{attributes['clip-path'][5:-1]})"
    if "style" in attributes:
        attributes["style"] = _themed(attributes["style"])
    for name in ("d", "x", "y", "transform"):
        if name in attributes:
            attributes[name] = _LONG.sub(_short, " ".join(attributes[name].split()))
    if element.tag not in ("text", "tspan", "title") and element.text and not element.text.strip():
        element.text = None
    if element.tail and not element.tail.strip():
        element.tail = None


def _short(number: re.Match[str]) -> str:
    """A coordinate to a hundredth of a pixel."""
    return f"{float(number[0]):.2f}"


def _themed(style: str) -> str:
    """The declarations with CSS variables for stand-in colours, and in the page's font."""
    kept = []
    for declaration in style.split(";"):
        name, _, value = declaration.strip().partition(": ")
        if name and name != "font-family":
            kept.append(f"{name}:{'var(' + _VARIABLES[value] + ')' if value in _VARIABLES else value}")
    return ";".join(kept)
