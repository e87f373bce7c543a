"""Judges a soak: is memory flat, did anything fail, was everything closed again?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from load.soak.processes import Held

__all__ = ["Growth", "Soak", "growth", "mistakes"]

SHARE, LEAST = 0.03, 4.0
"""By how much the memory of a process may grow: by this share of what it held, or by this many MiB."""


@dataclass
class Soak:
    """What was seen. ``samples`` holds seconds since the start, and what each process held then; ``before``
    and ``after`` are of idle processes; ``failures`` counts requests by what went wrong with them."""

    limit: float
    """Requests a second that were answered at most, and in ``rate`` those that were then asked."""
    rate: float
    before: Mapping[str, Held]
    after: Mapping[str, Held] = field(default_factory=dict)
    samples: list[tuple[float, Mapping[str, Held]]] = field(default_factory=list)
    answered: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    def memory(self, name: str) -> tuple[list[float], list[float]]:
        """The seconds at which a process was looked at, and the MiB that it held."""
        seen = [(at, now[name].memory) for at, now in self.samples if name in now]
        return [at for at, _ in seen], [memory for _, memory in seen]


@dataclass(frozen=True)
class Growth:
    """How the memory of a process changed, in MiB: ``first`` and ``last`` are the medians of the second and
    of the last quarter of the time, ``slope`` is what a straight line through the last three quarters
    climbs in them, and ``allowed`` what either may grow by."""

    first: float
    last: float
    slope: float
    allowed: float

    @property
    def flat(self) -> bool:
        """Whether neither the quarters nor the line say that it grew."""
        return self.last - self.first <= self.allowed and self.slope <= self.allowed


def growth(seconds: Sequence[float], memory: Sequence[float]) -> Growth:
    """How it changed after the first quarter, in which caches fill. Raises `ValueError` for fewer than eight
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
    """Everything that is not as it should be after the soak; nothing where all is well."""
    found = [f"{count} requests failed: {reason}" for reason, count in soak.failures.items()]
    if not soak.answered:
        found.append("no request was answered")
    for name, before in soak.before.items():
        if any(name not in now for _, now in soak.samples) or name not in soak.after:
            found.append(f"{name} ended")
            continue
        grown = growth(*soak.memory(name))
        if not grown.flat:
            found.append(
                f"{name} grew from {grown.first:.1f} to {grown.last:.1f} MiB, a line through it climbs by"
                f" {grown.slope:.1f}, and {grown.allowed:.1f} are allowed"
            )
        after = soak.after[name]
        for what in ("files", "sockets"):
            had, has = getattr(before, what), getattr(after, what)
            if has > had:
                found.append(f"{name} had {had} open {what} before and has {has} after")
    return found
