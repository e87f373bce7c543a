"""Audits a model that it downloads as an edge client does, and stores the verdict."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from leakrange.jobs.steps.audit import AUDIT, AuditJob
from leakrange.jobs.verdict import Verdict
from leakrange.services.attacker.keys import derived_key
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import JobContext, fleet_task
from leakrange.store.places import store_at
from leakrange.wire.errors import Conflict, DamagedFile
from leakrange.wire.transport import AiohttpTransport

if TYPE_CHECKING:
    from leakrange.devices.enrolment import Enrolment


def _stored(settings: FleetSettings, identity: str) -> bool:
    store, name = store_at(settings.releases_dir), AUDIT.file(identity)
    if not store.exists(name):
        return False
    try:
        Verdict.model_validate_json(store.get(name))
    except DamagedFile:
        return False
    except ValidationError:
        store.damaged(name)  # of another version, or not whole: it is made again
        return False
    return True


@fleet_task(AUDIT, seconds=1800.0, stored=_stored)
def audit(job: AuditJob, context: JobContext) -> dict[str, Any]:
    """Download the model, run the tests of the plan, and store the verdict as JSON."""
    begun = time.perf_counter()
    job.check_versions()
    key = job.key if job.account is None else derived_key(job.account, context.settings)
    import torch  # imported here: the process that forks the workers must never have torch

    from leakrange.audit.case import examined
    from leakrange.audit.examination import examine_loaded

    torch.set_num_threads(1)  # workers share the cores
    enrolment = asyncio.run(_enrolment(job, key, context.settings))
    verdict = examine_loaded(
        examined(enrolment.classifier, enrolment.config),
        job.plan,
        sha256=enrolment.card.sha256,
        size=enrolment.size,
        name=job.model,
        url=job.url,
    )
    context.releases.put(AUDIT.file(job.identity()), verdict.model_dump_json().encode())
    return {"conclusion": verdict.conclusion, "seconds": round(time.perf_counter() - begun, 4)}


async def _enrolment(job: AuditJob, key: str | None, settings: FleetSettings) -> Enrolment:
    """The model, checked against its card and loaded; raises `Conflict` for another file than the job's."""
    from leakrange.devices.enrolment import Enrolments

    transport = AiohttpTransport(timeout=settings.request_timeout)
    try:
        enrolment = await Enrolments(transport, most=1, attempts=1).current(job.url, key, job.model)
    finally:
        await transport.close()
    if enrolment.card.sha256 != job.sha256:
        raise Conflict(
            f"{job.url} serves another file as {job.model!r} than when the audit began", hint="audit it again"
        )
    return enrolment
