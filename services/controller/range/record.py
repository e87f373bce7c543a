"""The record of steps: the journal of a run, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakrange.wire.events import Holder, Purpose

__all__ = ["StepRecord"]


class StepRecord:
    """The record of each step. This one keeps nothing: it is for steps outside runs, such as those of audits
    and of the demonstration for visitors. A run has a `Journal`."""

    def __init__(self, run: str) -> None:
        self.run = run

    async def expect(self, kind: str, jobs: Mapping[str, Purpose]) -> None:
        """Record steps of a kind, by identity, that are going to be taken."""

    async def dispatch(self, identity: str, kind: str) -> None:
        """Record that a step begins: that it is sent to the fleet, or asked of users."""

    async def progress(
        self, identity: str, kind: str, share: float, message: str, figures: Mapping[str, float]
    ) -> None:
        """Tell listeners that a ``share`` in [0, 1] of a step is done, with the ``figures`` so far."""

    async def job_done(
        self, identity: str, kind: str, result: dict[str, Any], *, message: str, **more: Any
    ) -> None:
        """Record the end of a step. ``more`` are the further arguments of a journal."""

    async def job_failed(self, identity: str, kind: str, error: str) -> None:
        """Record the failure of a step; the trials that need it fail as well."""

    async def served(self, purpose: Purpose) -> None:
        """Tell listeners that a model can be asked."""

    async def open_account(
        self, name: str, *, policy: str, budget: int, holder: Holder, purpose: Purpose
    ) -> None:
        """Record an API key that its ``holder`` may use from now on, for ``budget`` samples."""

    async def accounts(self) -> list[str]:
        """The names of all API keys of the run, including those from before a restart."""
        return []

    async def settle_accounts(self, spent: Mapping[str, int]) -> None:
        """Store what each API key has ``spent``, in samples."""
