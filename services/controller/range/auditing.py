"""Audits by the fleet: the job that a model's card allows, and the verdict that it stores."""

from __future__ import annotations

import asyncio

from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.job import AuditJob
from leakrange.jobs.verdict import Verdict
from leakrange.store.files import FolderStore
from leakrange.wire.errors import Forbidden, InvalidInput
from leakrange.wire.schemas import ModelCard

__all__ = ["audit_job", "verdict_of"]


def audit_job(
    card: ModelCard, plan: AuditPlan, *, url: str, model: str, account: str | None, key: str | None
) -> AuditJob:
    """The job that audits the model of that card, which ``url`` serves as ``model``; ``account`` and ``key``
    as in `AuditJob`. Raises `InvalidInput` or `Forbidden` for a model that cannot be downloaded."""
    if card.service != "classifier":
        raise InvalidInput(f"{model!r} is a {card.service} service, whose model nobody can download")
    if not card.sha256:
        raise Forbidden(
            f"the model {model!r} may not be downloaded with this key",
            hint="ask for a key that may",
        )
    return AuditJob(url=url, model=model, sha256=card.sha256, account=account, key=key, plan=plan)


async def verdict_of(job: AuditJob, releases: FolderStore) -> Verdict:
    """What the job, which is done, came to."""
    return Verdict.model_validate_json(await asyncio.to_thread(releases.get, f"{job.identity()}.json"))
