"""Operations on audits: start, list, view; and the work behind them, which a new controller goes on with."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from leakrange.data import datasets
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.audits import (
    AuditAccepted,
    AuditEntry,
    AuditList,
    AuditRequest,
    AuditView,
)
from leakrange.jobs.verdict import Verdict
from leakrange.registry import UnknownName
from leakrange.services.controller.engine.engine import Engine
from leakrange.services.controller.engine.how.audit import audit_job, audited
from leakrange.services.controller.range.fleet import FleetJobFailed
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.tables import AuditRow
from leakrange.wire.client import NativeClient
from leakrange.wire.endpoints import ARTIFACT
from leakrange.wire.errors import PROBLEM_BASE, Conflict, DataUnavailable, InvalidInput, LeakrangeError
from leakrange.wire.events import Purpose
from leakrange.wire.keys import api_key
from leakrange.wire.transport import Transport

log = structlog.get_logger("leakrange.services.controller.audits")


class AuditService:
    """The audits of this range. One per controller."""

    def __init__(self, database: Database, parties: Parties, transport: Transport, *, attempts: int) -> None:
        self._database, self._parties = database, parties
        self._transport, self._attempts = transport, attempts
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, asked: AuditRequest) -> AuditAccepted:
        """Store an audit, and begin. Raises `InvalidInput` or `DataUnavailable` for data that cannot be
        audited with."""
        check_data(asked.plan)
        async with self._database.write() as session:
            created = (await AuditStore(session).create(asked.model_dump(mode="json"))).id
        self._begin(created, asked)
        return AuditAccepted(id=created, url=f"/v1/audits/{created}")

    async def page(self, limit: int, after: str | None) -> AuditList:
        """Audits, newest first."""
        async with self._database.read() as session:
            rows, following = await AuditStore(session).page(limit=limit, after=after)
        return AuditList(audits=[AuditEntry(**_entry(row)) for row in rows], next=following)

    async def view(self, audit: str) -> AuditView:
        """One audit; raises `NotFound`."""
        async with self._database.read() as session:
            row = await AuditStore(session).get(audit)
        return AuditView(**_entry(row), plan=row.request["plan"], verdict=row.verdict, problem=row.problem)

    async def report(self, audit: str) -> str:
        """The page of the verdict; raises `NotFound`, and `Conflict` where there is no verdict."""
        audit_view = await self.view(audit)
        if audit_view.verdict is None:
            raise Conflict(
                f"the audit has no verdict: it {_ENDS[audit_view.state]}", hint="GET the audit itself"
            )
        return await asyncio.to_thread(_page, audit_view.verdict)

    async def resume(self) -> None:
        """Go on with every audit that has not ended."""
        async with self._database.read() as session:
            rows = await AuditStore(session).running()
        for row in rows:
            self._begin(row.id, AuditRequest.model_validate(row.request))

    async def stop(self) -> None:
        """Leave all audits as they are: the next controller goes on with them."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, audit: str, asked: AuditRequest) -> None:
        task = self._tasks[audit] = asyncio.create_task(self._carry_out(audit, asked), name=f"audit {audit}")
        task.add_done_callback(lambda _: self._tasks.pop(audit))

    async def _carry_out(self, audit: str, asked: AuditRequest) -> None:
        ended: dict[str, Any]
        try:
            ended = {"verdict": (await self._audited(audit, asked)).model_dump(mode="json")}
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

    async def _audited(self, audit: str, asked: AuditRequest) -> Verdict:
        engine = Engine(self._parties, StepRecord(f"audit.{audit}"))
        url, key, account = asked.url, asked.key, None
        if url is None:
            url, account = self._parties.proxy_for_clients, engine.run
            key = await engine.accounts.key(
                account,
                holder="auditor",
                purpose=Purpose(model=asked.model),
                policy=None,
                budget=0,
                models=[asked.model],
                endpoints=[ARTIFACT],
                key=api_key(self._parties.fleet_secret.get_secret_value(), account),
            )
        client = NativeClient(self._transport, url, key, attempts=self._attempts)
        card = await client.card(asked.model)
        key = None if account else key
        job = audit_job(card, asked.plan, url=url, model=asked.model, account=account, key=key)
        return await audited(engine, job, asked.model, Purpose(model=asked.model))


def check_data(plan: AuditPlan) -> None:
    """Raise `InvalidInput` for a data set that is not registered, or without the sensitive attribute, and
    `DataUnavailable` for one that is not on this machine."""
    try:
        entry = datasets[plan.data.name]
    except UnknownName as error:
        raise InvalidInput(str(error)) from error
    if plan.sensitive is not None and plan.sensitive not in entry.attributes:
        there = ", ".join(sorted(entry.attributes))
        raise InvalidInput(f"{plan.data.name!r} has no attribute {plan.sensitive!r}; it has: {there}")
    if (reason := entry.available()) is not None:
        raise DataUnavailable(f"{plan.data.name!r} cannot be loaded: {reason}")


_ENDS = {"running": "goes on", "failed": "has failed", "done": "is over"}


def _page(verdict: Verdict) -> str:
    from leakrange.report.verdict import verdict_page  # which takes long to import

    return verdict_page(verdict)


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


def _entry(row: AuditRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": row.state,
        "model": row.request["model"],
        "server": row.request["url"],
        "created": row.created.isoformat(),
        "finished": row.finished.isoformat() if row.finished else None,
        "conclusion": row.verdict["conclusion"] if row.verdict else None,
    }
