"""Training: each job in a process of its own, which dies with its worker and leaves no memory behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import orjson
import structlog

from leakrange.wire.errors import LeakrangeError
from leakrange.wire.jobs import TrainJob
from services.attacker.celery_app import settings
from services.attacker.work import Cancelled, Work, fleet_task

__all__ = ["train"]

log = structlog.get_logger("services.attacker.train")

# glibc would map and unmap every large activation, which doubles the time of a step on a CPU.
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
    "MALLOC_TOP_PAD_": "268435456",
}
KEPT_LINES = 40


def _stored(work: Work[TrainJob]) -> bool:
    return work.models.exists(f"{work.identity}/training.json")


@fleet_task("train", TrainJob, stored=_stored)
def train(work: Work[TrainJob]) -> dict[str, Any]:
    """Train by ``services.attacker.training`` in a subprocess; its progress is passed on, its artifact is
    the result.
    """
    threads = str(settings.train_threads)
    environment = os.environ | ALLOCATOR | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "services.attacker.training", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        process.kill()

    work.stop = stop
    complaints: list[bytes] = []
    reader = threading.Thread(target=_keep_last, args=(process.stderr, complaints), daemon=True)
    reader.start()
    failure: str | None = None
    try:
        process.stdin.write(work.job.recipe.model_dump_json().encode())
        process.stdin.close()
        for line in process.stdout:
            said = orjson.loads(line)
            if "failed" in said:
                failure = str(said["failed"])
            else:
                work.report("progress", progress=said["progress"], message=said["message"], data=said)
    except BrokenPipeError:
        log.warning("the training process did not take its recipe", identity=work.identity)
    finally:
        process.stdout.close()
        if process.wait() != 0 and not stopped.is_set():
            reader.join()
    if stopped.is_set():
        raise Cancelled("cancelled")
    if failure is not None:
        raise LeakrangeError(failure)
    if process.returncode != 0 or not _stored(work):
        tail = b"".join(complaints[-5:]).decode(errors="replace").strip()
        raise LeakrangeError(
            f"the training process ended with status {process.returncode}: {tail[-800:] or 'no word'}"
        )
    return {"seconds": round(time.monotonic() - begun, 3)}


def _keep_last(stream: Any, kept: list[bytes]) -> None:
    with stream:
        for line in stream:
            kept.append(line)
            del kept[:-KEPT_LINES]
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
