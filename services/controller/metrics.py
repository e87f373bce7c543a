"""Metrics of what is stored or queued elsewhere: read when somebody asks, and at no other time."""

from __future__ import annotations

import asyncio
from typing import get_args

import structlog
from prometheus_client import CollectorRegistry, Gauge
from sqlalchemy.exc import SQLAlchemyError

from leakrange.jobs.job import JobKind
from leakrange.store.engine import Database
from leakrange.store.runs import Runs
from leakrange.store.trials import Trials
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.runs import State
from services.controller.range.fleet import Fleet

__all__ = ["Standing"]

WITHIN = 2.0
"""Seconds for each of the two: Prometheus waits ten for all."""
log = structlog.get_logger("services.controller.metrics")


class Standing:
    """Runs and trials by state, and what waits for the fleet. What cannot be read now is not told."""

    def __init__(self, database: Database, fleet: Fleet, registry: CollectorRegistry) -> None:
        self._database, self._fleet = database, fleet
        self.runs = Gauge("leakrange_controller_runs", "Runs by state", ("state",), registry=registry)
        self.trials = Gauge(
            "leakrange_controller_trials",
            "Trials of runs in progress, by state",
            ("state",),
            registry=registry,
        )
        self.waiting = Gauge(
            "leakrange_controller_queue_waiting",
            "Messages in a queue that no worker has taken",
            ("queue",),
            registry=registry,
        )
        self.pending = Gauge(
            "leakrange_controller_jobs_pending",
            "Jobs that runs and audits wait for, by kind",
            ("kind",),
            registry=registry,
        )

    async def refresh(self) -> None:
        """Bring all of them up to date."""
        pending = self._fleet.pending()
        for kind in get_args(JobKind):
            self.pending.labels(kind).set(pending[kind])
        await asyncio.gather(self._read_queues(), self._read_database())

    async def _read_queues(self) -> None:
        try:
            async with asyncio.timeout(WITHIN):
                waiting = await self._fleet.waiting()
        except (OSError, TimeoutError) as error:
            log.warning("the queues cannot be read", error=str(error))
            self.waiting.clear()
            return
        for queue, number in waiting.items():
            self.waiting.labels(queue).set(number)

    async def _read_database(self) -> None:
        try:
            async with asyncio.timeout(WITHIN), self._database.read() as session:
                runs = await Runs(session).tally()
                unfinished = [run.id for run in await Runs(session).unfinished()]
                trials = await Trials(session).tally(unfinished)
        except (SQLAlchemyError, LeakrangeError, OSError, TimeoutError) as error:
            log.warning("runs and trials cannot be counted", error=str(error))
            self.runs.clear()
            self.trials.clear()
            return
        for state in get_args(State):
            self.runs.labels(state).set(runs.get(state, 0))
        for state in (*get_args(State), "refused"):
            self.trials.labels(state).set(sum(counted.get(state, 0) for counted in trials.values()))
