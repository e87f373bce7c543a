"""A reproduction's works, done by processes side by side, each resumable by what is in the store already."""

from __future__ import annotations

import multiprocessing.connection
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Protocol

__all__ = ["Progress", "Tell", "Work", "WorkEvent", "carry_out"]

Progress = Callable[[float], None]
POLL_SECONDS = 0.5
ALMOST = 0.99


class Work(Protocol):
    """One piece of a reproduction: picklable, and the same however often it is done."""

    @property
    def title(self) -> str:
        """What it is, for people."""

    def done(self, store: Path) -> bool:
        """Whether all that it gives is in the store."""

    def carry_out(self, store: Path, progress: Progress) -> None:
        """Do what is not in the store yet; ``progress`` is told shares in [0, 1]."""


@dataclass(frozen=True)
class WorkEvent:
    """Work number ``index`` got to ``progress`` (1.0: it is done)."""

    index: int
    progress: float


Tell = Callable[[WorkEvent], None]


def carry_out(works: Sequence[Work], store: Path, *, jobs: int, threads: int, tell: Tell) -> None:
    """Do every work that is not done, ``jobs`` at a time, each in a process of its own with ``threads``
    threads.

    Works are begun in order. The first that fails ends it all, and those that run with it; its error is
    raised. Workers end with their parent, however that ends, so that nothing is trained twice by whoever
    goes on.
    """
    waiting = [i for i, work in enumerate(works) if not work.done(store)]
    if not waiting:
        return
    context = multiprocessing.get_context("spawn")
    events: SimpleQueue[WorkEvent] = context.SimpleQueue()
    setup = (events, threads)
    with ProcessPoolExecutor(min(jobs, len(waiting)), context, initializer=_begin, initargs=setup) as pool:
        running: set[Future[None]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    index = waiting.pop(0)
                    running.add(pool.submit(_do, index, works[index], store))
                ended, running = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                while not events.empty():
                    tell(events.get())
                for future in ended:
                    future.result()
            while not events.empty():
                tell(events.get())
        except BaseException:
            for process in list(pool._processes.values()):
                process.terminate()
            raise


_events: SimpleQueue[WorkEvent]


def _begin(events: SimpleQueue[WorkEvent], threads: int) -> None:
    global _events
    _events = events
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _do(index: int, work: Work, store: Path) -> None:
    # only what has returned is done: a work may say that it is before its last result is kept
    work.carry_out(store, lambda share: _events.put(WorkEvent(index, min(share, ALMOST))))
    _events.put(WorkEvent(index, 1.0))
