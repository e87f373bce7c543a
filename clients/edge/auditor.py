"""Audits on the device, which uses no model that it does not trust."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import structlog

from leakrange.audit.case import examined
from leakrange.audit.examination import examine_loaded
from leakrange.devices.enrolment import Enrolment
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.verdict import Verdict
from leakrange.wire.digests import digest
from leakrange.wire.errors import SuspiciousModel

__all__ = ["Auditor"]

REMEMBERED = 256
log = structlog.get_logger("leakrange.clients.edge.auditor")


class Auditor:
    """Audits downloaded models on the device, with its own labelled samples: so it trusts nobody else's
    verdict.

    ``plan`` is the plan by which it audits every model; without one, a request may name a plan. A verdict is
    cached by the SHA-256 of the model's file and the plan.
    """

    def __init__(self, plan: AuditPlan | None) -> None:
        self._plan = plan
        self._verdicts: OrderedDict[tuple[str, str], asyncio.Task[Verdict]] = OrderedDict()

    async def check(self, enrolment: Enrolment, requested: AuditPlan | None) -> None:
        """Raise `SuspiciousModel` for a model that does not pass, and the errors of an audit that cannot be
        made: a model that cannot be audited is not used either."""
        plan = self._plan or requested
        if plan is None:
            return
        verdict = await self._verdict(enrolment, plan)
        if verdict.conclusion == "passes":
            return
        meanings = [finding.meaning for finding in verdict.findings if finding.conclusion != "passes"]
        raise SuspiciousModel(
            f"the model {enrolment.card.name!r} did not pass this device's audit: {' '.join(meanings)}",
            sha256=verdict.subject.sha256,
            conclusion=verdict.conclusion,
            findings=[
                finding.model_dump(mode="json", include={"test", "score", "threshold", "conclusion"})
                for finding in verdict.findings
            ],
        )

    async def _verdict(self, enrolment: Enrolment, plan: AuditPlan) -> Verdict:
        name = (enrolment.card.sha256, digest(plan.model_dump(mode="json")))
        task = self._verdicts.get(name)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            work = asyncio.to_thread(
                examine_loaded,
                examined(enrolment.classifier, enrolment.config),
                plan,
                sha256=enrolment.card.sha256,
                size=enrolment.size,
                name=enrolment.card.name,
                url=enrolment.url,
            )
            task = self._verdicts[name] = asyncio.create_task(work)
            while len(self._verdicts) > REMEMBERED:
                self._verdicts.popitem(last=False)
        verdict = await asyncio.shield(task)  # others may wait for it, too
        log.info("audited", model=enrolment.card.name, conclusion=verdict.conclusion)
        return verdict
