"""Tasks of the fleet: the step that each takes, its time limit, and the place of its result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from leakrange.jobs.step import Step
from leakrange.registry import Registry
from leakrange.services.attacker.reports import Reporter
from leakrange.services.attacker.settings import FleetSettings
from leakrange.store.files import ObjectStore, whole
from leakrange.store.places import store_at


class Cancelled(Exception):
    """The controller has cancelled this job."""


class JobContext:
    """The context of a job while it runs."""

    def __init__(self, settings: FleetSettings, reporter: Reporter) -> None:
        self.settings = settings
        self.progress = reporter.progress
        self._lock = threading.Lock()
        self._cancelled = False
        self._interrupt: Callable[[], None] | None = None

    @property
    def releases(self) -> ObjectStore:
        """The store of releases and inferences."""
        return store_at(self.settings.releases_dir)

    def cancel(self) -> None:
        """Interrupt the job, if it can be; called from another thread."""
        with self._lock:
            self._cancelled = True
            if self._interrupt is not None:
                self._interrupt()

    @contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Have ``interrupt`` called, from another thread, if the job is cancelled while the block runs.

        Raises `Cancelled` if it was cancelled already.
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
Stored = Callable[[FleetSettings, str], bool]


@dataclass(frozen=True)
class FleetTask:
    """A task by the name ``leakrange.{step}`` on the queue of the step.

    ``seconds`` limits one run of it. ``stored`` tells whether the result of an identity is there. ``run``
    does the job, stores its result atomically and gives the data of the last report.
    """

    step: Step
    seconds: float
    stored: Stored
    run: Run

    @property
    def name(self) -> str:
        """The name by which the controller sends it."""
        return f"leakrange.{self.step.name}"


tasks = Registry[FleetTask]("task", "leakrange.services.attacker.tasks")
"""The tasks by the names of their steps."""


def fleet_task(step: Step, *, seconds: float, stored: Stored | None = None) -> Callable[[Run], FleetTask]:
    """Make a function of a job and its context the task of that step. Without ``stored``, a result is there
    when its file among the releases is whole."""

    def released(settings: FleetSettings, identity: str) -> bool:
        return whole(store_at(settings.releases_dir), step.file(identity))

    def register(run: Run) -> FleetTask:
        return tasks.register(step.name, module=run.__module__)(
            FleetTask(step, seconds, stored or released, run)
        )

    return register
