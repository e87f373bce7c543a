"""What a task of the fleet is: the kind of job it takes, how long it may take, and where its result lies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from leakrange.jobs.job import JobKind
from leakrange.store.files import FolderStore
from services.attacker.reports import Reporter
from services.attacker.settings import FleetSettings


class Cancelled(Exception):
    """The controller has cancelled this job."""


class JobContext:
    """What a job has at hand while it runs."""

    def __init__(self, settings: FleetSettings, reporter: Reporter) -> None:
        self.settings = settings
        self.progress = reporter.progress
        self._lock = threading.Lock()
        self._cancelled = False
        self._interrupt: Callable[[], None] | None = None

    @property
    def releases(self) -> FolderStore:
        """Where releases and inferences are stored."""
        return FolderStore(self.settings.releases_dir)

    def cancel(self) -> None:
        """Interrupt the job, if it can be; called from another thread."""
        with self._lock:
            self._cancelled = True
            if self._interrupt is not None:
                self._interrupt()

    @contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Have ``interrupt`` called, from another thread, if the job is cancelled while the block runs.

        Raises `Cancelled` where it was cancelled already.
        """
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled while it ran."""
        return self._cancelled


Run = Callable[[Any, JobContext], dict[str, Any]]


@dataclass(frozen=True)
class FleetTask:
    """A task by the name ``leakrange.{kind}`` on the queue ``{kind}``.

    ``seconds`` limits one run of it. ``stored`` tells whether the result of an identity is there. ``run``
    does the job, stores its result atomically and gives the data of the last report.
    """

    kind: JobKind
    seconds: float
    stored: Callable[[FleetSettings, str], bool]
    run: Run

    @property
    def name(self) -> str:
        """As the controller sends it."""
        return f"leakrange.{self.kind}"


def fleet_task(
    kind: JobKind, *, seconds: float, stored: Callable[[FleetSettings, str], bool]
) -> Callable[[Run], FleetTask]:
    """Make a function of a job and its context the task of that kind of job."""
    return lambda run: FleetTask(kind, seconds, stored, run)
