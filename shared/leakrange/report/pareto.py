"""Which of several choices nobody need give up anything for."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["frontier"]


def frontier(reached: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names whose (utility, leakage) no other has beaten in one and reached in the other, in the order of
    rising utility."""
    kept = [
        name
        for name, (used, leaked) in reached.items()
        if not any(
            u >= used and found <= leaked and (u, found) != (used, leaked) for u, found in reached.values()
        )
    ]
    return sorted(kept, key=lambda name: reached[name])
