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
from leakrange.jobs.job import TrainJob
from leakrange.store.files import FolderStore, whole
from leakrange.wire.errors import LeakrangeError
from services.attacker.artifacts import find_whole
from services.attacker.settings import FleetSettings
from services.attacker.task import Cancelled, JobContext, fleet_task


class Trainer:
    """``python -m services.attacker.train``: started for the first training, kept for the next ones.

    It has the imports behind it, and forks a process for each training: a process that has run a torch
    operation must not be forked, so neither the worker nor the trainer itself ever runs one.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def train(self, job: TrainJob, settings: FleetSettings) -> Iterator[dict[str, Any]]:
        """What the training says, one JSON object after the other; ends early where the process dies."""
        process = self._started(settings)
        assert process.stdin is not None
        assert process.stdout is not None
        finished = False
        asked = {"job": job.model_dump(mode="json"), "logged": get_contextvars()}
        try:
            with suppress(BrokenPipeError):  # it died: what it says ends here, too
                process.stdin.write(orjson.dumps(asked) + b"\n")
                process.stdin.flush()
            for line in process.stdout:
                said = orjson.loads(line)
                finished = "done" in said or "failed" in said
                yield said
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
            [sys.executable, "-m", "services.attacker.train", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ALLOCATOR | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
            start_new_session=True,  # Ctrl-C is for the worker, which finishes the job at hand
        )
        return self._process


trainer = Trainer()
"""Of this process; each forked worker starts its own when it is first given a training."""


def _stored(settings: FleetSettings, identity: str) -> bool:
    shown = whole(FolderStore(settings.releases_dir), f"{identity}.npy")
    return shown or find_whole(settings.models_dir, identity) is not None


@fleet_task("train", seconds=86_400.0, stored=_stored)
def train(job: TrainJob, context: JobContext) -> dict[str, Any]:
    """Train and store the artifact folder, and what it is to show; progress is passed on as reports."""
    begun = time.perf_counter()
    with context.interrupted_by(trainer.kill):
        for said in trainer.train(job, context.settings):
            if "failed" in said:
                raise LeakrangeError(said["failed"], hint=said.get("hint"))
            if "done" in said:
                return {**said["done"], "wall": round(time.perf_counter() - begun, 3)}
            context.progress(said.get("progress", 0.0), said.get("message", ""), said)
    if context.cancelled:
        raise Cancelled
    raise LeakrangeError("the training process died", hint="the worker's log may tell why")
