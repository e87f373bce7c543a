"""News of jobs, to the stream that the controller reads."""

from __future__ import annotations

from typing import Any, Literal

import redis

from leakrange.jobs.job import REPORTS, JobReport

__all__ = ["Reporter"]

KEPT = 100_000
"""Reports in the stream, about; the controller is rarely more than a few behind."""


class Reporter:
    """Reports on one job, in the order of the calls."""

    def __init__(
        self, client: redis.Redis, identity: str, kind: Literal["train", "probe", "fit"], worker: str
    ) -> None:
        self._client = client
        self._fields: dict[str, Any] = {"identity": identity, "kind": kind, "worker": worker}

    def started(self) -> None:
        """Report that a worker has begun."""
        self._send(state="started")

    def progress(self, share: float, message: str, data: dict[str, Any]) -> None:
        """Report that a ``share`` in [0, 1] of the job is done."""
        self._send(state="progress", progress=min(1.0, max(0.0, share)), message=message, data=data)

    def done(self, data: dict[str, Any]) -> None:
        """Report that the result is stored."""
        self._send(state="done", progress=1.0, data=data)

    def failed(self, message: str, data: dict[str, Any] | None = None) -> None:
        """Report that the job failed and is not tried again."""
        self._send(state="failed", message=message, data=data or {})

    def _send(self, **fields: Any) -> None:
        report = JobReport(**self._fields, **fields)
        self._client.xadd(REPORTS, {"json": report.model_dump_json()}, maxlen=KEPT, approximate=True)
