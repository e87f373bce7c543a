"""Judges the trials of a run. The controller judges the first ones. Processes beside it judge the others: one
process would be the limit of a large run."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import structlog

from leakrange.scenario.stored_trial import StoredTrial
from leakrange.service.parent import die_with
from leakrange.services.controller.range.journal import EndedTrial
from leakrange.store.files import get_record
from leakrange.store.places import store_at
from leakrange.store.releases import StoredReleases

__all__ = ["Judges"]

HERE = 2_000
"""The number of trials that the controller judges itself. Processes take as long to begin."""
MOST = 2
"""The greatest number of processes: they judge about as many trials as the controller can record."""
log = structlog.get_logger("leakrange.services.controller.judging")


class Judges:
    """Whoever judges the trials of one run, from the stores at these places."""

    def __init__(self, models: Path | str, releases: Path | str) -> None:
        self._places = models, releases
        self._judged = 0
        self._processes: ProcessPoolExecutor | None = None

    async def judged(self, trial: StoredTrial) -> EndedTrial:
        """The end of a trial. Raises as `StoredTrial.judged` does."""
        self._judged += 1
        if self._judged <= HERE:
            return EndedTrial.of(trial.judged())
        processes = self._processes = self._processes or self._begun()
        try:
            return await asyncio.get_running_loop().run_in_executor(processes, _judged, *self._places, trial)
        except BrokenProcessPool as error:
            log.warning("a process that judged trials has ended", reason=str(error))
            if self._processes is processes:
                self._processes = None  # the next trial begins others
            return EndedTrial.of(trial.judged())

    def close(self) -> None:
        """End the processes."""
        if self._processes is not None:
            self._processes.shutdown(wait=False, cancel_futures=True)
            self._processes = None

    def _begun(self) -> ProcessPoolExecutor:
        # Not forked from this process, which has threads; the server that they are forked from has none.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        number = min(MOST, os.cpu_count() or 1)
        return ProcessPoolExecutor(number, mp_context=context, initializer=_begin)


def _begin() -> None:
    die_with(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is typed at a terminal is for the controller


def _judged(models: Path | str, releases: Path | str, trial: StoredTrial) -> EndedTrial:
    record = partial(get_record, store_at(models))
    return EndedTrial.of(trial.reading(StoredReleases(store_at(releases)), record).judged())
