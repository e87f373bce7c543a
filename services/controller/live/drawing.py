"""Where the parties of a run stand in its picture, and the ways between them: side by side on a wide screen,
one below the other on a narrow one. Providers stand each by itself, or by behaviour if they are many.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from leakrange.services.controller.live.state import LiveModel, LiveProvider, RunState

__all__ = ["MOST", "Box", "Drawing", "Node", "Way", "boxes", "drawings"]

Kind = Literal["users", "attackers", "proxy", "provider", "trainers", "controller"]
MOST = 12
"""Up to this number, each provider has a place of its own."""


@dataclass(frozen=True)
class Box:
    """One place in the picture: a provider, or all that play the same."""

    name: str
    plays: str
    role: str
    """What they do, in words."""
    providers: list[LiveProvider]

    @property
    def models(self) -> list[LiveModel]:
        """All their models."""
        return [each for provider in self.providers for each in provider.models.values()]

    @property
    def trained(self) -> int:
        """The number of them that are trained."""
        return sum(each.trained for each in self.providers)


def boxes(state: RunState) -> list[Box]:
    """The boxes in the order of the scenario."""
    if len(state.providers) <= MOST:
        return [Box(each.name, each.plays, each.role, [each]) for each in state.providers.values()]
    alike: dict[str, list[LiveProvider]] = {}
    for each in state.providers.values():
        alike.setdefault(each.plays, []).append(each)
    return [
        Box(f"{len(providers)} {plays} providers", plays, plays, providers)
        for plays, providers in alike.items()
    ]


@dataclass(frozen=True)
class Node:
    """A party: its place, in units of the picture, ``title`` cut to its width, and what it is in full."""

    kind: Kind
    slot: str
    x: float
    y: float
    width: float
    height: float
    title: str
    full: str
    plays: str = ""
    name: str = ""
    """Of a provider, cut to what its title leaves."""


@dataclass(frozen=True)
class Way:
    """A way from one party to another. ``slot`` names its figures; ``path`` is that of an SVG. ``at`` is
    where a figure stands on it, None for a way without a figure."""

    kind: Literal["users", "attackers", "provider", "orders", "models"]
    slot: str
    path: str
    at: tuple[float, float] | None = None


@dataclass
class Drawing:
    """A picture of that size."""

    name: Literal["wide", "narrow"]
    width: float
    height: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    edges: list[Way] = field(default_factory=list)


def drawings(state: RunState) -> list[Drawing]:
    """The same parties twice; a page shows what fits."""
    return [_wide(state), _narrow(state)]


def _wide(state: RunState) -> Drawing:
    """Users, attackers and controller on the left, proxy and trainers in the middle, providers on the right:
    with `MOST` of them, lower than a laptop's screen."""
    drawing = Drawing("wide", 1160)
    places, top, low = boxes(state), 8.0, 64.0
    gap = 8.0 if len(places) <= 9 else 5.0
    row = min(46.0, max(37.0, 460.0 / len(places) - gap)) if places else 0.0
    height = max(310.0, len(places) * (row + gap) - gap)
    x_proxy, x_providers, proxy, right = 340.0, 690.0, 230.0, 462.0
    below, of_proxy = top + height - low, height - low - 40.0
    drawing.nodes.append(_node("proxy", "proxy", x_proxy, top, proxy, of_proxy, "Defence proxy"))
    first = top + (height - len(places) * (row + gap) + gap) / 2
    for number, box in enumerate(places):
        y = first + number * (row + gap)
        drawing.nodes.append(_provider(number, box, x_providers, y, right, row, (38, 22)))
        a, b = x_proxy + proxy, x_providers
        start = top + of_proxy * (number + 1) / (len(places) + 1)
        path = f"M{a} {start:.1f} C{a + 60} {start:.1f} {b - 60} {y + row / 2:.1f} {b} {y + row / 2:.1f}"
        drawing.edges.append(Way("provider", f"provider.{number}", path))
    sides = _sides(state)
    for number, who in enumerate(sides):
        y = top + of_proxy * (0.5 + number) / len(sides) - 46
        drawing.nodes.append(_side(state, who, 8, y, 232, 92, 28))
        path = f"M240 {y + 46:.1f} L{x_proxy} {y + 46:.1f}"
        drawing.edges.append(Way(_kind(who), f"flow.{who}", path, (290, y + 36)))
    drawing.nodes.append(_node("controller", "controller", 8, below, 232, low, "Controller"))
    drawing.nodes.append(_node("trainers", "trainers", x_proxy, below, proxy, low, "Trainers"))
    across, aside, foot = below + low / 2, top + of_proxy - 14, _foot(drawing.nodes)
    drawing.edges += [
        Way("orders", "trainers", f"M240 {across} L{x_proxy} {across}"),
        Way("models", "trainers", f"M{x_proxy + proxy} {across} L{x_providers} {across}"),
        Way("orders", "controller", f"M240 {across - 16} L290 {across - 16} L290 {aside} L{x_proxy} {aside}"),
        Way("orders", "controller", f"M124 {below} L124 {foot:.1f}"),
    ]
    drawing.height = top + height + 8
    return drawing


def _narrow(state: RunState) -> Drawing:
    drawing = Drawing("narrow", 360)
    places = boxes(state)
    sides = _sides(state)
    width = 340.0 if len(sides) == 1 else 164.0
    for number, who in enumerate(sides):
        x = 10 + number * 176
        drawing.nodes.append(_side(state, who, x, 8, width, 92, 18 if len(sides) > 1 else 36))
        middle = x + width / 2
        drawing.edges.append(
            Way(_kind(who), f"flow.{who}", f"M{middle} 100 L{middle} 148", (middle + 6, 128))
        )
    drawing.nodes.append(_node("proxy", "proxy", 10, 148, 340, 84, "Defence proxy"))
    y = 256.0
    for number, box in enumerate(places):
        drawing.nodes.append(_provider(number, box, 40, y, 310, 46, (34, 36)))
        drawing.edges.append(Way("provider", f"provider.{number}", f"M22 232 L22 {y + 23} L40 {y + 23}"))
        y += 56
    y += 18
    drawing.edges.append(Way("models", "trainers", f"M267 {y} L267 {y - 28}"))
    drawing.edges.append(Way("orders", "trainers", f"M174 {y + 32} L186 {y + 32}"))
    drawing.nodes.append(_node("controller", "controller", 10, y, 164, 64, "Controller"))
    drawing.nodes.append(_node("trainers", "trainers", 186, y, 164, 64, "Trainers"))
    drawing.height = y + 72
    return drawing


def _sides(state: RunState) -> list[str]:
    return ["users", "attackers"] if state.outside else ["users"]


def _provider(
    number: int, box: Box, x: float, y: float, width: float, height: float, fits: tuple[int, int]
) -> Node:
    """What a provider does, and its name; each is cut to so many letters."""
    node = _node("provider", f"provider.{number}", x, y, width, height, box.role, fits[0], box.plays)
    return replace(node, full=f"{box.name}, {box.role}", name=_cut(box.name, fits[1]))


def _kind(who: str) -> Literal["users", "attackers"]:
    return "users" if who == "users" else "attackers"


def _side(state: RunState, who: str, x: float, y: float, width: float, height: float, fits: int) -> Node:
    if who == "users":
        many = ", ".join(f"{count:,} {name}" for name, count in state.clients.items())
        return _node("users", "users", x, y, width, height, f"Users: {many}" if many else "Users", fits)
    return _node("attackers", "attackers", x, y, width, height, "Attackers", fits)


def _node(
    kind: Kind,
    slot: str,
    x: float,
    y: float,
    width: float,
    height: float,
    title: str,
    fits: int = 99,
    plays: str = "",
) -> Node:
    return Node(kind, slot, x, round(y, 1), width, round(height, 1), _cut(title, fits), title, plays)


def _cut(text: str, fits: int) -> str:
    return text if len(text) <= fits else text[: fits - 1] + "…"


def _foot(nodes: list[Node]) -> float:
    """The lower end of the lowest node on the left."""
    return max(each.y + each.height for each in nodes if each.kind in ("users", "attackers"))
