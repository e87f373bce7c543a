"""Audit a model as anybody who can download it would."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.step import Step, steps
from leakrange.jobs.steps.fit import AttackJob

__all__ = ["AUDIT", "AuditJob"]


class AuditJob(AttackJob):
    """Download a model as an edge client does, and audit it. Result: a verdict, JSON under the identity.

    ``sha256`` is that of the file on the model's card: where the server sends another one by then, the job
    fails. ``account`` names an API key of the range's own proxy, which the worker derives; ``key`` is that
    of a server elsewhere.
    """

    kind: Literal["audit"] = "audit"
    attack: Literal["audit"] = "audit"
    url: str
    model: str
    sha256: str
    account: str | None = None
    key: Annotated[str | None, Field(repr=False)] = None
    plan: AuditPlan

    def identity(self) -> str:
        """Digest of everything but the keys."""
        return self._digest("account", "key", "attack")


AUDIT = Step("audit", label="audits", rank=60, job=AuditJob, stored="json", gate="fits")
steps.register(AUDIT.name, module=__name__)(AUDIT)
