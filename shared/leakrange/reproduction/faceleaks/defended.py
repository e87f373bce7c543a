"""Which defences are tried on which API (Section 7, and what the paper's conclusion asks for)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leakrange.reproduction.faceleaks.channel import Api

__all__ = ["DELTA", "NONE", "Defence", "defences"]

DELTA = 1e-5
CLIP = {"features": 1.0, "verification": 2.0, "recognition": 1.0}
"""No answer is longer: feature vectors are normalised, two of them are at most 2 apart, probabilities add up
to 1."""


@dataclass(frozen=True)
class Defence:
    """A chain of output defences under its ``title``. ``fresh``: whether a repeated question is answered
    anew, so that averaging can help. ``eta`` of multiplicative noise, significant ``figures`` of a rounding,
    ``k`` of a top-k, of which attackers have two readings."""

    title: str
    chain: tuple[Any, ...]
    fresh: bool = False
    eta: float | None = None
    figures: int | None = None
    k: int | None = None


NONE = Defence("none", ())


def defences(api: Api, classes: int) -> list[Defence]:
    """All of one API; the first is none. Of a recognition's ``classes`` the k highest are revealed, for as
    many k as leave some untold."""
    after: tuple[Any, ...] = () if api == "verification" else ("normalise",)
    found = [NONE]
    for eta in (0.1, 1.0, 5.0):
        noise = {"noise": {"scale": eta, "mode": "multiplicative"}}
        found.append(Defence(f"noise η = {eta:g}", (noise, *after), fresh=True, eta=eta))
    for eta in (1.0, 5.0):
        noise = {"noise": {"scale": eta, "mode": "multiplicative", "sticky": True}}
        found.append(Defence(f"sticky noise η = {eta:g}", (noise, *after), eta=eta))
    for epsilon in (1.0, 10.0, 100.0):
        calibrated = {"calibrated-noise": {"epsilon": epsilon, "delta": DELTA, "clip": CLIP[api]}}
        title = f"calibrated noise, ε = {epsilon:g}, δ = {DELTA:g} a query"
        found.append(Defence(title, (calibrated,), fresh=True))
    for figures in (1, 2, 3, 4):
        rounded = {"round": {"figures": figures}}
        found.append(Defence(f"rounded to {figures} significant", (rounded,), figures=figures))
    if api == "recognition":
        for k in (15, 10, 5, 2, 1):
            if k < classes:
                found.append(Defence(f"top-{k}", ({"top-k": {"k": k, "rest": "zero"}},), k=k))
    return found
