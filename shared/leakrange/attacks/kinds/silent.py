"""Kinds whose attackers ask nothing: the provider, who reads uploads, and the auditor, who has the file."""

from __future__ import annotations

from leakrange.attacks.attack import Knowledge
from leakrange.attacks.kinds.cell import Offer
from leakrange.attacks.kinds.kind import Kind
from leakrange.attacks.kinds.target import Target

__all__ = ["SilentKind"]


class SilentKind(Kind):
    """A budget limits no queries, and at most the uploads that are seen."""

    def buys(
        self,
        target: Target,  # noqa: ARG002
        provider: Offer,  # noqa: ARG002
        knowledge: Knowledge,  # noqa: ARG002
        budget: int,
        available: int | None = None,  # noqa: ARG002
    ) -> int | None:
        """The whole budget."""
        return budget
