"""What audits of models and of endpoints share: each is a task, which a new controller goes on with."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import structlog

from leakrange.services.controller.range.fleet import FleetJobFailed
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.tables import AuditKind
from leakrange.wire.errors import PROBLEM_BASE, LeakrangeError

__all__ = ["AuditWork"]

log = structlog.get_logger("leakrange.services.controller.audits")


class AuditWork(ABC):
    """The audits of one ``kind`` that have not ended."""

    kind: ClassVar[AuditKind]

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def resume(self) -> None:
        """Go on with every audit that has not ended."""
        async with self._database.read() as session:
            rows = await AuditStore(session).running(self.kind)
        for row in rows:
            self._begin(row.id, row.request)

    async def stop(self) -> None:
        """Leave all audits as they are: the next controller goes on with them."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @abstractmethod
    async def _concluded(self, audit: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry an audit out, as its stored request says; what `AuditStore.finish` takes. Raises
        `LeakrangeError` where it comes to no verdict."""

    def _begin(self, audit: str, request: dict[str, Any]) -> None:
        task = self._tasks[audit] = asyncio.create_task(
            self._carry_out(audit, request), name=f"audit {audit}"
        )
        task.add_done_callback(lambda _: self._tasks.pop(audit))

    async def _carry_out(self, audit: str, request: dict[str, Any]) -> None:
        try:
            ended = await self._concluded(audit, request)
        except LeakrangeError as error:
            ended = {"problem": _problem(error)}
        except Exception as error:  # whatever the error is, the audit must not seem to be running
            log.error("an audit failed", audit=audit, exc_info=error)
            ended = {"problem": _problem(LeakrangeError(f"{type(error).__name__}: {error}"))}
        try:
            async with self._database.write() as session:
                await AuditStore(session).finish(audit, **ended)
        except Exception as error:
            log.error("the end of an audit was not recorded: a restart does it", audit=audit, exc_info=error)


def _problem(error: LeakrangeError) -> dict[str, Any]:
    """The problem of an error here, or of the worker's own error if the fleet's report names it."""
    report = error.extra.get("said") if isinstance(error, FleetJobFailed) else None
    if not report or "error" not in report:
        return error.problem()
    problem = {
        "type": PROBLEM_BASE + report["error"],
        "title": "The audit failed",
        "detail": report["detail"],
    }
    return problem | ({"hint": report["hint"]} if report.get("hint") else {})
