"""Trains in a subprocess of the worker, which dies with the worker and returns its memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
from structlog.contextvars import get_contextvars

from leakrange.allocator import ALLOCATOR
from leakrange.jobs.steps.craft import CRAFT, CraftJob
from leakrange.jobs.steps.show import SHOW, ShowJob
from leakrange.jobs.steps.train import TRAIN, TrainJob
from leakrange.services.attacker.artifacts import find_whole
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import Cancelled, JobContext, fleet_task
from leakrange.wire.errors import LeakrangeError

SECONDS = 86_400.0


class TrainerProcess:
    """``python -m leakrange.services.attacker.trainer``: started for the first training, kept for the next.

    It has made all imports, and forks a process for each training: a process that has run a torch operation
    must not be forked, so neither the worker nor the trainer itself ever runs one.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def train(self, job: TrainJob | ShowJob | CraftJob, settings: FleetSettings) -> Iterator[dict[str, Any]]:
        """The reports of the training, one JSON object after the other; ends early if the process dies."""
        process = self._started(settings)
        assert process.stdin is not None
        assert process.stdout is not None
        finished = False
        asked = {"job": job.model_dump(mode="json"), "logged": get_contextvars()}
        try:
            with suppress(BrokenPipeError):  # it died: its reports end here, too
                process.stdin.write(orjson.dumps(asked) + b"\n")
                process.stdin.flush()
            for line in process.stdout:
                report = orjson.loads(line)
                finished = "done" in report or "failed" in report
                yield report
                if finished:
                    return
        finally:
            if not finished:
                self.kill()

    def kill(self) -> None:
        """End the trainer and the training; the next `train` starts a new one. May be called from any
        thread."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own group: see below

    def _started(self, settings: FleetSettings) -> subprocess.Popen[bytes]:
        if self._process is not None:
            if self._process.poll() is None:
                return self._process
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(BrokenPipeError):
                    pipe.close()  # type: ignore[union-attr]
        threads = str(settings.train_threads)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "leakrange.services.attacker.trainer", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ALLOCATOR | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
            start_new_session=True,  # Ctrl-C is for the worker, which finishes the job at hand
        )
        return self._process


trainer = TrainerProcess()
"""The trainer of this process; each forked worker starts its own for its first training."""


def _trained(settings: FleetSettings, identity: str) -> bool:
    return find_whole(settings.models_dir, identity) is not None


@fleet_task(TRAIN, seconds=SECONDS, stored=_trained)
def train(job: TrainJob, context: JobContext) -> dict[str, Any]:
    """Train and store the artifact folder; progress is passed on as reports."""
    return _done(job, context)


@fleet_task(CRAFT, seconds=SECONDS)
def craft(job: CraftJob, context: JobContext) -> dict[str, Any]:
    """Craft samples against models that are trained already, and store them."""
    return _done(job, context)


@fleet_task(SHOW, seconds=SECONDS)
def show(job: ShowJob, context: JobContext) -> dict[str, Any]:
    """Train the model if needed, and store the releases that the job wants."""
    return _done(job, context)


def _done(job: TrainJob | ShowJob | CraftJob, context: JobContext) -> dict[str, Any]:
    begun = time.perf_counter()
    with context.interrupted_by(trainer.kill):
        for report in trainer.train(job, context.settings):
            if "failed" in report:
                raise LeakrangeError(report["failed"], hint=report.get("hint"))
            if "done" in report:
                return {**report["done"], "wall": round(time.perf_counter() - begun, 3)}
            context.progress(report.get("progress", 0.0), report.get("message", ""), report)
    if context.cancelled:
        raise Cancelled
    raise LeakrangeError("the training process died", hint="the worker's log may tell why")
