"""A worker's metrics of its jobs, for Prometheus.

Jobs are done in forked processes, and the port is the main process's. Each fork writes one line a job into a
pipe, which the main process counts: nothing is shared, and a fork that is killed loses its own line alone.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Counter, Histogram, make_wsgi_app
from pydantic import SecretStr

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

__all__ = ["JobMetrics", "Outcome"]

Outcome = Literal["done", "reused", "failed", "cancelled", "postponed", "left"]
"""``reused``: the result was stored already. ``left``: another worker has the job, or it was ended
meanwhile."""


class JobMetrics:
    """Jobs by kind and outcome, and how long they took. Make it before the worker forks."""

    def __init__(self) -> None:
        self._from, self._to = os.pipe()
        os.set_blocking(self._to, False)  # a main process that hangs must not hold up jobs
        self.registry = CollectorRegistry()
        self._jobs = Counter(
            "leakrange_fleet_jobs", "Jobs by outcome", ("kind", "outcome"), registry=self.registry
        )
        self._seconds = Histogram(
            "leakrange_fleet_job_seconds",
            "Time of a job that was done or failed",
            ("kind",),
            registry=self.registry,
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400),
        )

    def ended(self, kind: str, outcome: Outcome, begun: float) -> None:
        """Count a job that began at ``begun`` (`time.monotonic`) and has ended; may be called from any
        process."""
        with contextlib.suppress(BlockingIOError):  # lines that are not read are not counted
            os.write(self._to, f"{kind} {outcome} {time.monotonic() - begun:.6f}\n".encode())

    def serve(self, host: str, port: int, key: SecretStr | None) -> None:
        """Count, and answer at ``http://host:port/metrics``; if there is a ``key``, only to clients that show
        it."""
        threading.Thread(target=self._count, name="job-metrics", daemon=True).start()
        server = make_server(host, port, _guarded(make_wsgi_app(self.registry), key), handler_class=_Silent)
        threading.Thread(target=server.serve_forever, name="metrics-port", daemon=True).start()

    def _count(self) -> None:
        with open(self._from, encoding="ascii", closefd=False) as lines:
            for line in lines:
                kind, outcome, seconds = line.split()
                self._jobs.labels(kind, outcome).inc()
                if outcome in ("done", "failed"):
                    self._seconds.labels(kind).observe(float(seconds))


class _Silent(WSGIRequestHandler):
    timeout = 10  # seconds within which a request must come, since requests are answered one after the other

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a scrape is not worth a line."""


def _guarded(app: Callable[..., Iterable[bytes]], key: SecretStr | None) -> Callable[..., Iterable[bytes]]:
    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/metrics":
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"there is only /metrics\n"]
        if key is not None:
            shown = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
            if not hmac.compare_digest(shown.encode(), key.get_secret_value().encode()):
                start("401 Unauthorized", [("Content-Type", "text/plain"), ("WWW-Authenticate", "Bearer")])
                return [b"these metrics want the metrics key\n"]
        return app(environ, start)

    return answer
