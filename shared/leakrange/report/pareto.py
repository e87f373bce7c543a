"""The frontier of several choices: those that no other choice beats."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["frontier"]


def frontier(reached: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names whose (utility, leakage) no other has beaten in one and reached in the other, in the order of
    rising utility."""
    best = [
        name
        for name, (used, leaked) in reached.items()
        if not any(
            u >= used and leak <= leaked and (u, leak) != (used, leaked) for u, leak in reached.values()
        )
    ]
    return sorted(best, key=lambda name: reached[name])
