"""What an attack infers at one provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

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

    def affordable(self, answers: int, available: int | None) -> int | None:
        """The number of auxiliary records that the attack can use with so many answers, of those
        ``available``. None where this is below its lower bound on ``auxiliary``."""
        parameters = self.parameters.model_dump()
        count = min(answers, int(parameters.get("auxiliary", answers)))
        if available is not None:
            count = min(count, available)
        if "auxiliary" in parameters:
            try:
                type(self.parameters).model_validate({**parameters, "auxiliary": count})
            except ValidationError:
                return None
        return count or None
