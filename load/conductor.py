"""The work that one Locust process does for all others: it sets the number of users, ends the load test, and
reports its statistics to the controller."""

from __future__ import annotations

import secrets
import time
from typing import Any, ClassVar

import gevent
from locust import LoadTestShape, User
from locust.env import Environment
from locust.stats import RequestStats

from leakrange.load.shapes import SHAPES
from leakrange.load.users.attribute import AttributeAttacker
from leakrange.load.users.botnet import Botnet
from leakrange.load.users.desk import Desk
from leakrange.load.users.honest import HonestClient
from leakrange.load.users.membership import MembershipAttacker
from leakrange.load.users.reconstruction import ReconstructionCollector
from leakrange.load.users.user import LoadUser
from leakrange.load.users.verification import VerificationProber
from leakrange.scenario.load import KINDS
from leakrange.scenario.under_load import LoadMoment, LoadPart, Measured

__all__ = ["USERS", "Conductor", "ScenarioShape", "load_part"]

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
REPORT_EVERY = 5
"""Number of looks between two reports to the controller."""
MOMENTS = 1000
ERRORS = 20


class Conductor:
    """The conductor of a load test, in the process that has the statistics of all: the master, or the only
    one."""

    def __init__(self, environment: Environment, desk: Desk) -> None:
        self._environment, self._desk = environment, desk
        self._part, self._began = secrets.token_hex(6), time.monotonic()
        self._moments: list[LoadMoment] = []
        view = desk.view()
        self.load, self.over = view.spec, view.over
        self.users: list[type[User]] = []
        for kind, count in self.load.users.items():
            USERS[kind].weight = count
            self.users.append(USERS[kind])

    def watch(self) -> None:
        """Watch for the end of the run, and report the statistics, for as long as the process lives."""
        looks = 0
        while True:
            gevent.sleep(LOOK_EVERY)
            self.over = self._desk.view().over
            self._note()
            looks += 1
            if looks % REPORT_EVERY == 0:
                self.report()

    def report(self) -> None:
        """Report the statistics so far to the controller."""
        runner = self._environment.runner
        workers = getattr(runner, "worker_count", 1) if runner is not None else 1
        seconds = time.monotonic() - self._began
        self._desk.report(self._part, load_part(self._environment.stats, seconds, workers, self._moments))

    def _note(self) -> None:
        runner = self._environment.runner
        if runner is not None:
            at, rate = time.monotonic() - self._began, float(self._environment.stats.total.current_rps)
            self._moments.append(LoadMoment(at=round(at, 1), users=runner.user_count, rate=round(rate, 1)))
            if len(self._moments) > MOMENTS:
                del self._moments[1::2]


def load_part(stats: RequestStats, seconds: float, workers: int, moments: list[LoadMoment]) -> LoadPart:
    """Locust's statistics by defence and kind of user."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for (defence, method), entry in stats.entries.items():
        kind, _, outcome = method.partition(" ")
        if kind not in KINDS:
            continue
        line = lines.setdefault((defence, kind), {"defence": defence, "user": kind})
        line[outcome or "answered"] = entry.num_requests
        if not outcome:
            line["milliseconds"] = {int(time): count for time, count in entry.response_times.items()}
    errors = sorted(stats.errors.values(), key=lambda error: -error.occurrences)[:ERRORS]
    return LoadPart(
        seconds=round(seconds, 1),
        workers=workers,
        measured=[Measured.model_validate(line) for line in lines.values()],
        moments=moments,
        errors={f"{error.name}: {error.error}"[:500]: error.occurrences for error in errors},
    )


class ScenarioShape(LoadTestShape):
    """The shape of the scenario; the load test ends when nothing is left to ask."""

    conductor: ClassVar[Conductor | None] = None

    def tick(self) -> tuple[int, float, list[type[User]]] | None:
        """The present number of users, the number that starts per second, and their classes; None at
        the end."""
        conductor, at = self.conductor, float(self.get_run_time())  # type: ignore[no-untyped-call]
        assert conductor is not None, "the conductor begins before the load test"
        shape, peak = conductor.load.shape, conductor.load.peak
        if conductor.over and (shape.kind != "soak" or at >= shape.seconds):
            return None
        return SHAPES[shape.kind](shape, at, peak), float(peak), conductor.users
