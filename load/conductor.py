"""What one Locust process does for all others: it says how many users there are, ends the load test, and
tells the controller what was seen."""

from __future__ import annotations

import secrets
import time
from typing import ClassVar

import gevent
from locust import LoadTestShape, User
from locust.env import Environment
from locust.stats import RequestStats

from leakrange.scenario.load import KINDS
from leakrange.scenario.under_load import LoadPart, Measured, Moment
from load.shapes import SHAPES
from load.users.attribute import AttributeAttacker
from load.users.botnet import Botnet
from load.users.desk import Desk
from load.users.honest import HonestClient
from load.users.membership import MembershipAttacker
from load.users.reconstruction import ReconstructionCollector
from load.users.user import LoadUser
from load.users.verification import VerificationProber

__all__ = ["USERS", "Conductor", "ScenarioShape", "seen"]

USERS: dict[str, type[LoadUser]] = {
    each.kind: each
    for each in (
        HonestClient,
        MembershipAttacker,
        AttributeAttacker,
        VerificationProber,
        ReconstructionCollector,
        Botnet,
    )
}
LOOK_EVERY = 1.0
TELL_EVERY = 5
"""Looks between which the controller is told."""
MOMENTS = 1000
ERRORS = 20


class Conductor:
    """One in the process that has the statistics of all: the master, or the only one."""

    def __init__(self, environment: Environment, desk: Desk) -> None:
        self._environment, self._desk = environment, desk
        self._part, self._begun = secrets.token_hex(6), time.monotonic()
        self._moments: list[Moment] = []
        view = desk.view()
        self.load, self.over = view.spec, view.over
        self.users: list[type[User]] = []
        for kind, count in self.load.users.items():
            USERS[kind].weight = count
            self.users.append(USERS[kind])

    def watch(self) -> None:
        """Look whether the run is over, and tell what was seen, for as long as the process lives."""
        looks = 0
        while True:
            gevent.sleep(LOOK_EVERY)
            self.over = self._desk.view().over
            self._note()
            looks += 1
            if looks % TELL_EVERY == 0:
                self.tell()

    def tell(self) -> None:
        """Tell the controller what was seen so far."""
        runner = self._environment.runner
        workers = getattr(runner, "worker_count", 1) if runner is not None else 1
        seconds = time.monotonic() - self._begun
        self._desk.saw(self._part, seen(self._environment.stats, seconds, workers, self._moments))

    def _note(self) -> None:
        runner = self._environment.runner
        if runner is not None:
            at, rate = time.monotonic() - self._begun, float(self._environment.stats.total.current_rps)
            self._moments.append(Moment(at=round(at, 1), users=runner.user_count, rate=round(rate, 1)))
            if len(self._moments) > MOMENTS:
                del self._moments[1::2]


def seen(stats: RequestStats, seconds: float, workers: int, moments: list[Moment]) -> LoadPart:
    """Locust's statistics by defence and kind of user."""
    lines: dict[tuple[str, str], Measured] = {}
    for (defence, method), entry in stats.entries.items():
        kind, _, outcome = method.partition(" ")
        if kind not in KINDS:
            continue
        line = lines.setdefault((defence, kind), Measured(defence=defence, user=kind))
        setattr(line, outcome or "answered", entry.num_requests)
        if not outcome:
            line.milliseconds = {int(time): count for time, count in entry.response_times.items()}
    errors = sorted(stats.errors.values(), key=lambda error: -error.occurrences)[:ERRORS]
    return LoadPart(
        seconds=round(seconds, 1),
        workers=workers,
        measured=list(lines.values()),
        moments=moments,
        errors={f"{error.name}: {error.error}"[:500]: error.occurrences for error in errors},
    )


class ScenarioShape(LoadTestShape):  # type: ignore[misc]
    """As the scenario says; the load test ends when nothing is left to ask."""

    conductor: ClassVar[Conductor | None] = None

    def tick(self) -> tuple[int, float, list[type[User]]] | None:
        """The number of users now, how many of them begin in a second, and their classes; None at the
        end."""
        conductor, at = self.conductor, self.get_run_time()
        assert conductor is not None, "the conductor begins before the load test"
        shape, peak = conductor.load.shape, conductor.load.peak
        if conductor.over and (shape.kind != "soak" or at >= shape.seconds):
            return None
        return SHAPES[shape.kind](shape, at, peak), float(peak), conductor.users
