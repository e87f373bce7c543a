"""Reports on jobs, in the stream that the controller reads."""

from __future__ import annotations

from typing import Any, Literal

import redis

from leakrange.jobs.orders import REPORTS, JobReport

KEPT = 100_000
"""The number of reports, roughly, that the stream keeps; the controller is rarely more than a few behind."""

State = Literal["started", "postponed", "done", "failed"]


class Reporter:
    """Reports on one job, in the order of the calls."""

    def __init__(self, client: redis.Redis, identity: str, kind: str, worker: str) -> None:
        self._client = client
        self._fields: dict[str, Any] = {"identity": identity, "kind": kind, "worker": worker}

    def make(self, state: State, message: str = "", **data: Any) -> JobReport:
        """A report on the job; `send` it."""
        progress = 1.0 if state == "done" else 0.0
        return JobReport(**self._fields, state=state, progress=progress, message=message, data=data)

    def progress(self, share: float, message: str, data: dict[str, Any]) -> None:
        """Report that a ``share`` in [0, 1] of the job is done."""
        share = min(1.0, max(0.0, share))
        self.send(JobReport(**self._fields, state="progress", progress=share, message=message, data=data))

    def send(self, report: JobReport) -> None:
        """Append it to the stream."""
        self._client.xadd(REPORTS, {"json": report.model_dump_json()}, maxlen=KEPT, approximate=True)
