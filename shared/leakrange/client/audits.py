"""Audits of models by the fleet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from leakrange.client.http import Http
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.audits import AuditAccepted, AuditEntry, AuditList, AuditView
from leakrange.jobs.verdict import Verdict
from leakrange.wire.answers import read
from leakrange.wire.errors import LeakrangeError

__all__ = ["Audit", "AuditFailed", "Audits"]

Audit = str | AuditAccepted | AuditEntry
"""An audit: its id, or what the range said of it."""
LOOK_EVERY = 0.5


class AuditFailed(LeakrangeError):
    """An audit reached no verdict; ``detail`` says why, and ``view`` is its last state."""

    slug: ClassVar[str] = "audit-failed"
    title: ClassVar[str] = "Audit failed"

    def __init__(self, view: AuditView) -> None:
        problem = view.problem or {}
        super().__init__(
            str(problem.get("detail", f"the audit {view.id} came to no verdict")), hint=problem.get("hint")
        )
        self.view = view


class Audits:
    """``Range.audits``. All methods raise the errors of the controller."""

    def __init__(self, controller: Http) -> None:
        self._controller = controller

    def start(
        self,
        model: str,
        plan: AuditPlan | Mapping[str, Any],
        *,
        url: str | None = None,
        key: str | None = None,
    ) -> AuditAccepted:
        """Have the fleet audit a model that the range's proxy serves, or with ``url`` one of another server
        with the native API, which may require the API ``key``."""
        given = plan.model_dump(mode="json") if isinstance(plan, AuditPlan) else dict(plan)
        asked = {"model": model, "url": url, "key": key, "plan": given}
        return read(AuditAccepted, self._controller.operate("POST", "/v1/audits", json=asked))

    def latest(self, count: int = 50) -> list[AuditEntry]:
        """Return the last audits, at most 200, newest first."""
        return read(AuditList, self._controller.get("/v1/audits", limit=count)).audits

    def view(self, audit: Audit) -> AuditView:
        """Return the state of an audit and its outcome."""
        name = quote(audit if isinstance(audit, str) else audit.id, safe="")
        return read(AuditView, self._controller.get(f"/v1/audits/{name}"))

    def verdict(self, audit: Audit) -> Verdict:
        """Wait for the end of an audit. Raises `AuditFailed` if it reaches no verdict."""
        while (view := self.view(audit)).state == "running":
            time.sleep(LOOK_EVERY)
        if view.verdict is None:
            raise AuditFailed(view)
        return view.verdict
