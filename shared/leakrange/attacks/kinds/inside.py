"""Attackers who ask nothing: the provider itself, which reads what users upload."""

from __future__ import annotations

from leakrange.attacks.attack import Knowledge
from leakrange.attacks.kinds.cell import Offer
from leakrange.attacks.kinds.kind import Kind
from leakrange.attacks.kinds.target import Target

__all__ = ["InsideKind"]


class InsideKind(Kind):
    """The budget is the number of uploads that it sees."""

    def buys(
        self,
        target: Target,  # noqa: ARG002
        provider: Offer,  # noqa: ARG002
        knowledge: Knowledge,  # noqa: ARG002
        budget: int,
        available: int | None = None,  # noqa: ARG002
    ) -> int | None:
        """The number of uploads that the provider sees."""
        return budget
