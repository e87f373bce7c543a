"""The axes of charts, in the form of Vega-Lite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakrange.metrics.registry import Unit

__all__ = ["Axis"]

SPACE = "\N{NO-BREAK SPACE}"
WIDTH = 176
"""The pixels for the names on an axis below a chart."""
EDGE = 6
"""Pixels beyond the outermost figures where Vega chooses the ends, so that no mark is cut there."""


@dataclass(frozen=True)
class Axis:
    """One axis. Shares are written in percent; ``ends`` are its lowest and highest value, ``ticks`` the
    places of its marks; Vega chooses both where they are None. ``names`` makes it one of names, in that
    order."""

    title: str
    unit: Unit = "number"
    ends: tuple[float, float] | None = None
    ticks: Sequence[float] | None = None
    names: Sequence[str] | None = None
    log: bool = False
    about: int = 5
    """The approximate number of ticks that Vega chooses."""
    room: int | None = None
    """The most pixels of a name; None for a size that suits a small chart, 0 for no names to the left."""

    def x(self) -> dict[str, Any]:
        """The axis below the chart, of the rows' x."""
        if self.names is not None:
            limit = self.room or WIDTH / len(self.names)
            look = {"grid": False, "labelAngle": 0, "labelLimit": limit, "ticks": False}
            return self._named("x", look)
        return self._measured("x")

    def y(self) -> dict[str, Any]:
        """The axis to the left, of the rows' y; its title stands above it, upright."""
        above: dict[str, Any] = {"titleAngle": 0, "titleAnchor": "end", "titleAlign": "left"}
        above |= {"titleX": -40, "titleY": -14}
        if self.names is not None:
            labels = {"labels": False, "domain": False} if self.room == 0 else {"labelLimit": self.room or 82}
            return self._named("y", {"grid": False, "ticks": False, **labels, **above})
        return self._measured("y", **above)

    def _named(self, field: str, look: dict[str, Any]) -> dict[str, Any]:
        names = list(self.names or ())
        title = (self.title or None) if field == "y" else self.title
        return {"field": field, "type": "nominal", "title": title, "sort": names, "axis": look}

    def _measured(self, field: str, **placed: Any) -> dict[str, Any]:
        ends: dict[str, Any] = {"padding": EDGE} if self.ends is None else {"domain": list(self.ends)}
        kind = {"type": "log"} if self.log else {"type": "linear", "zero": False}
        scale = {**kind, "nice": False, **ends}
        look = {"labelExpr": self._text(), **self._ticks(), **placed}
        return {"field": field, "type": "quantitative", "title": self.title, "scale": scale, "axis": look}

    def _ticks(self) -> dict[str, Any]:
        return {"tickCount": self.about} if self.ticks is None else {"values": list(self.ticks)}

    def _text(self) -> str:
        """The Vega expression that writes a tick."""
        if self.unit == "share":
            return f"format(100 * datum.value, '.4~g') + '{SPACE}%'"
        if self.unit == "count":
            return "format(datum.value, ',d')"
        written = "format(datum.value, '.4~g')"
        return f"{written} + '{SPACE}dB'" if self.unit == "dB" else written
