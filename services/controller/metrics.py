"""Metrics of records and queues that lie elsewhere: read only when somebody asks."""

from __future__ import annotations

import asyncio
from typing import get_args

import structlog
from prometheus_client import CollectorRegistry, Gauge
from sqlalchemy.exc import SQLAlchemyError

from leakrange.jobs.step import steps
from leakrange.services.controller.range.fleet import Fleet
from leakrange.store.engine import Database
from leakrange.store.runs import RunStore
from leakrange.store.trials import Trials
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.runs import State

__all__ = ["RangeGauges"]

WITHIN = 2.0
"""The time limit of each of the two reads, in seconds: Prometheus waits ten for all."""
log = structlog.get_logger("leakrange.services.controller.metrics")


class RangeGauges:
    """Runs and trials by state, and the messages that wait for the fleet. Figures that cannot be read now are
    left out."""

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
        for step in steps.values():
            if step.job is not None:
                self.pending.labels(step.name).set(pending[step.name])
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
                runs = await RunStore(session).tally()
                unfinished = [run.id for run in await RunStore(session).unfinished()]
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
