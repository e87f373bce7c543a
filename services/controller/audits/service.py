"""Operations on audits: start, list, view; and the work behind them, which a new controller goes on with."""

from __future__ import annotations

import asyncio
from typing import Any

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
from leakrange.services.controller.audits.work import AuditWork
from leakrange.services.controller.engine.engine import Engine
from leakrange.services.controller.engine.how.audit import audit_job, audited
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.tables import AuditRow
from leakrange.wire.client import NativeClient
from leakrange.wire.endpoints import ARTIFACT
from leakrange.wire.errors import Conflict, DataUnavailable, InvalidInput
from leakrange.wire.events import Purpose
from leakrange.wire.transport import Transport


class AuditService(AuditWork):
    """The audits of models of this range. One per controller."""

    kind = "model"

    def __init__(self, database: Database, parties: Parties, transport: Transport, *, attempts: int) -> None:
        super().__init__(database)
        self._parties, self._transport, self._attempts = parties, transport, attempts

    async def start(self, asked: AuditRequest) -> AuditAccepted:
        """Store an audit, and begin. Raises `InvalidInput` or `DataUnavailable` for data that cannot be
        audited with."""
        check_data(asked.plan)
        request = asked.model_dump(mode="json")
        async with self._database.write() as session:
            created = (await AuditStore(session).create(asked.model, request)).id
        self._begin(created, request)
        return AuditAccepted(id=created, url=f"/v1/audits/{created}")

    async def page(self, limit: int, after: str | None) -> AuditList:
        """Audits, newest first."""
        async with self._database.read() as session:
            rows, following = await AuditStore(session).listed(kind=self.kind, limit=limit, after=after)
        return AuditList(audits=[AuditEntry(**_entry(row)) for row in rows], next=following)

    async def view(self, audit: str) -> AuditView:
        """One audit; raises `NotFound`."""
        async with self._database.read() as session:
            row = await AuditStore(session).of_kind(self.kind, audit)
        return AuditView(**_entry(row), plan=row.request["plan"], verdict=row.verdict, problem=row.problem)

    async def report(self, audit: str) -> str:
        """The page of the verdict; raises `NotFound`, and `Conflict` where there is no verdict."""
        audit_view = await self.view(audit)
        if audit_view.verdict is None:
            raise Conflict(
                f"the audit has no verdict: it {_ENDS[audit_view.state]}", hint="GET the audit itself"
            )
        return await asyncio.to_thread(_page, audit_view.verdict)

    async def _concluded(self, audit: str, request: dict[str, Any]) -> dict[str, Any]:
        verdict = await self._audited(audit, AuditRequest.model_validate(request))
        return {"verdict": verdict.model_dump(mode="json")}

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
                keys=self._parties.fleet_keys(account),
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


def _entry(row: AuditRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": row.state,
        "model": row.request["model"],
        "server": row.request["url"],
        "created": row.created.isoformat(),
        "finished": row.finished.isoformat() if row.finished else None,
        "conclusion": row.conclusion,
    }
