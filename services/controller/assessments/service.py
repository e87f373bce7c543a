"""Operations on audits of endpoints: plan and start, and the work behind them."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any, ClassVar, Literal

import orjson

from leakrange.assessment.document import AssessmentPlan
from leakrange.assessment.question import EndpointQuestion
from leakrange.assessment.requests import AssessmentAccepted, AssessmentRequest
from leakrange.services.controller.assessments.reader import AssessmentReader
from leakrange.services.controller.audits.work import AuditWork
from leakrange.services.controller.range.news import News
from leakrange.services.controller.reading.process import ReadingProcess
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.visitors import Visitor
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.runs import FINAL, RunStore
from leakrange.store.tables import AuditKind
from leakrange.wire.errors import Unavailable

__all__ = ["AssessmentService"]

LOOK_EVERY = 15.0
"""Seconds after which the state of a run is looked at, though nothing was told of it."""
LAST = 200
"""So many audits of a target are looked through for the same one."""


class AssessmentService(AssessmentReader, AuditWork):
    """The audits of endpoints of this range. One per controller."""

    kind: ClassVar[AuditKind] = "endpoint"

    def __init__(
        self,
        database: Database,
        runs: RunService,
        reading: ReadingProcess,
        news: News,
        settings: ControllerSettings,
    ) -> None:
        AuditWork.__init__(self, database)
        self._runs, self._reading, self._news, self._settings = runs, reading, news, settings
        self._starting = asyncio.Lock()  # whoever asks twice gets one audit

    async def plan(self, question: EndpointQuestion) -> AssessmentPlan:
        """What an audit would do. Raises `InvalidInput` and `DataUnavailable` as
        `leakrange.assessment.plan.planned` does, and `Unavailable` where too much is read at the time."""
        body = question.model_dump_json().encode()
        return AssessmentPlan.model_validate_json(
            await self._reading.read("/assessments/plan", Visitor("operator"), body)
        )

    async def start(self, question: EndpointQuestion) -> AssessmentAccepted:
        """Plan an audit, begin its run, and store it. A run of the same plan that goes on or is done is used,
        and an audit that asked the same of it is given again. Raises as `plan` does."""
        plan = await self.plan(question)
        async with self._starting:
            run, run_was = await self._run_of(plan)
            request = AssessmentRequest(question=question, plan=plan, run=run).model_dump(mode="json")
            name = question.target.name
            async with self._database.write() as session:
                audits = AuditStore(session)
                rows, _ = await audits.listed(kind=self.kind, subject=name, limit=LAST)
                same = (row.id for row in rows if row.state != "failed" and row.request == request)
                audit = next(same, None)
                if begins := audit is None:
                    audit = (await audits.create(name, request, kind=self.kind)).id
            if begins:
                self._begin(audit, request)
        return AssessmentAccepted(id=audit, url=f"/v1/assessments/{audit}", run=run, run_was=run_was)

    async def _run_of(self, plan: AssessmentPlan) -> tuple[str, Literal["new", "begun", "done"]]:
        async with self._database.read() as session:
            if run := await RunStore(session).latest(plan.name, "queued", "running"):
                return run.id, "begun"
            if run := await RunStore(session).latest(plan.name, "done"):
                return run.id, "done"
        return (await self._runs.start(plan.scenario.encode())).id, "new"

    async def _concluded(self, audit: str, request: dict[str, Any]) -> dict[str, Any]:
        await self._over(str(request["run"]))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leakrange.services.controller.assessments.judging"),
            *(audit, str(os.getpid())),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # what is typed at a terminal is for the controller
        )
        try:
            written, _ = await process.communicate(self._settings.handed_on())
        finally:
            if process.returncode is None:  # the controller stops
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise Unavailable(
                f"the process that judges has ended with status {process.returncode}",
                hint="start the audit again: its answers are stored, and the controller's log says more",
            )
        ended: dict[str, Any] = orjson.loads(written)
        return ended

    async def _over(self, run: str) -> None:
        """Return when the run has ended, however it did."""
        while True:
            change = self._news.next_change(run)
            if (await self._runs.view(run)).state in FINAL:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await change.wait()
