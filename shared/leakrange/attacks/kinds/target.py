"""What an attack infers at one provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leakrange.attacks.attack import Attack, Knowledge

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """An attack on one provider.

    ``hidden`` names what it infers, ``classes`` are the names of its possible values.
    """

    attack: type[Attack]
    hidden: str
    classes: tuple[str, ...]
    parameters: Any

    def answers(self, knowledge: Knowledge) -> int:
        """The number of queries of each sample: an averaging attacker repeats its queries."""
        return int(getattr(self.parameters, "repeats", 1)) if knowledge == "averaging" else 1
