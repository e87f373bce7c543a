"""The controller's counters of the fleet's jobs."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

__all__ = ["FleetMetrics"]


class FleetMetrics:
    """Reports on jobs, jobs that were lost, and how long jobs took."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        self.reports = Counter(
            "leakrange_controller_job_reports",
            "Reports of the fleet: jobs started, done, failed or postponed",
            ("kind", "state"),
            registry=registry,
        )
        self.lost = Counter(
            "leakrange_controller_jobs_lost",
            "Jobs sent again because their worker or their message was gone",
            ("kind",),
            registry=registry,
        )
        self.seconds = Histogram(
            "leakrange_controller_job_seconds",
            "Time from the sending of a job to its end, in the queue and in work",
            ("kind",),
            registry=registry,
            buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400),
        )
