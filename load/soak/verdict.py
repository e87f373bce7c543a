"""Judges a soak: is memory flat, did anything fail, was everything closed again?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from leakrange.load.soak.processes import ProcessUse

__all__ = ["Growth", "Soak", "growth", "mistakes"]

SHARE, LEAST = 0.03, 4.0
"""Allowed growth of a process's memory: this share of it, or this many MiB."""


@dataclass
class Soak:
    """Results of a soak. ``samples`` holds seconds since the start, and the resources of each process then;
    ``before`` and ``after`` are of idle processes; ``failures`` counts requests by reason."""

    limit: float
    """Most requests answered per second; ``rate`` is the number that was then sent."""
    rate: float
    before: Mapping[str, ProcessUse]
    after: Mapping[str, ProcessUse] = field(default_factory=dict)
    samples: list[tuple[float, Mapping[str, ProcessUse]]] = field(default_factory=list)
    answered: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    def memory(self, name: str) -> tuple[list[float], list[float]]:
        """The seconds at which a process was looked at, and its MiB then."""
        measured = [(at, now[name].memory) for at, now in self.samples if name in now]
        return [at for at, _ in measured], [memory for _, memory in measured]


@dataclass(frozen=True)
class Growth:
    """Change of a process's memory, in MiB: ``first`` and ``last`` are the medians of the second and of the
    last quarter of the time, ``slope`` is the climb of a straight line through the last three quarters, and
    ``allowed`` the growth that is allowed of either."""

    first: float
    last: float
    slope: float
    allowed: float

    @property
    def flat(self) -> bool:
        """Whether neither the quarters nor the line show growth."""
        return self.last - self.first <= self.allowed and self.slope <= self.allowed


def growth(seconds: Sequence[float], memory: Sequence[float]) -> Growth:
    """The change after the first quarter, in which caches fill. Raises `ValueError` for fewer than eight
    values."""
    if len(memory) < 8:
        raise ValueError(f"{len(memory)} values of memory say nothing about its growth, eight do")
    at, values = np.asarray(seconds, dtype=np.float64), np.asarray(memory, dtype=np.float64)
    second, third, last = np.array_split(np.arange(len(values)), 4)[1:]
    later = np.concatenate([second, third, last])
    climb = float(np.polyfit(at[later], values[later], 1)[0] * (at[later[-1]] - at[later[0]]))
    first = float(np.median(values[second]))
    return Growth(first, float(np.median(values[last])), climb, max(SHARE * first, LEAST))


def mistakes(soak: Soak) -> list[str]:
    """Everything wrong after the soak; empty where all is well."""
    wrong = [f"{count} requests failed: {reason}" for reason, count in soak.failures.items()]
    if not soak.answered:
        wrong.append("no request was answered")
    for name, before in soak.before.items():
        if any(name not in now for _, now in soak.samples) or name not in soak.after:
            wrong.append(f"{name} ended")
            continue
        grown = growth(*soak.memory(name))
        if not grown.flat:
            wrong.append(
                f"{name} grew from {grown.first:.1f} to {grown.last:.1f} MiB, a line through it climbs by"
                f" {grown.slope:.1f}, and {grown.allowed:.1f} are allowed"
            )
        after = soak.after[name]
        for kind in ("files", "sockets"):
            had, has = getattr(before, kind), getattr(after, kind)
            if has > had:
                wrong.append(f"{name} had {had} open {kind} before and has {has} after")
    return wrong
