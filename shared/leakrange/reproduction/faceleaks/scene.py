"""One seed's people, models and services, ready to be attacked."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.pairs import choose_pairs
from leakrange.data import load
from leakrange.metrics.verification import Verification
from leakrange.reproduction.faceleaks.channel import Api, Channel, Service
from leakrange.reproduction.faceleaks.defended import Defence
from leakrange.reproduction.faceleaks.models import Student, Teacher, student, teacher, teacher_verification
from leakrange.reproduction.faceleaks.settings import Settings
from leakrange.reproduction.faceleaks.world import Pairs, Targets, targets, threshold_pairs
from leakrange.wire.schemas import Deployment

__all__ = ["Scene"]

Releases = NDArray[np.float32]


class Scene:
    """What is attacked under ``seed``. Models are made, and services deployed, when they are first needed.

    ``models`` is the folder of artifacts that the range's provider serves from.
    """

    def __init__(self, settings: Settings, seed: int, models: Path, channel: Channel) -> None:
        self.settings, self.seed, self.models, self.channel = settings, seed, models, channel
        self.people = load(settings.spec(seed))
        self._students: dict[int, Student] = {}
        self._services: dict[tuple[Api, bool, int], Service] = {}

    @cached_property
    def targets(self) -> Targets:
        """Who is attacked."""
        return targets(self.people, self.settings, self.seed)

    @cached_property
    def person(self) -> NDArray[np.int64]:
        """Whose each of the attacked images is, 0 .. people − 1, person after person."""
        return np.repeat(np.arange(len(self.targets.images)), self.targets.images.shape[1])

    @cached_property
    def pairs(self) -> NDArray[np.intp]:
        """Places among the attacked images, (q, 2): what a verification attacker asks under its budget."""
        budget = self.settings.pairs * len(self.targets.images)
        return choose_pairs(self.person, budget, self.seed)

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher's artifact."""
        return teacher(self.people, self.settings, self.seed, self.models, lambda _: None)

    def student(self, classes: int) -> Student:
        """A recognition student's artifact."""
        if classes not in self._students:
            made = student(self.people, self.teacher, self.settings, classes, self.seed, self.models)
            self._students[classes] = made
        return self._students[classes]

    @cached_property
    def threshold_pairs(self) -> Pairs:
        """What a threshold is cross-validated on."""
        return threshold_pairs(self.people, self.seed)

    def verification(self, *, normalised: bool) -> Verification:
        """How well the teacher's features verify people whom it does not know."""
        return teacher_verification(self.people, self.teacher, self.threshold_pairs, normalised=normalised)

    def service(self, api: Api, *, normalised: bool = True, classes: int | None = None) -> Service:
        """A student service. Features and distances are normalised unless that is refused."""
        size = classes or self.settings.classes
        if (api, normalised, size) not in self._services:
            self._services[api, normalised, size] = self._service(api, size, normalised=normalised)
        return self._services[api, normalised, size]

    def _service(self, api: Api, size: int, *, normalised: bool) -> Service:
        if api == "recognition":
            deployment = Deployment(artifact=self.student(size).digest, service=api)
            return Service(f"faceleaks-s{self.seed}-recognition-{size}", api, deployment)
        kind = "normalised" if normalised else "raw"
        more: dict[str, Any] = {}
        if api == "verification":
            more["threshold"] = round(self.verification(normalised=normalised).threshold, 6)
        deployment = Deployment(artifact=self.teacher.digest, service=api, normalised=normalised, **more)
        return Service(f"faceleaks-s{self.seed}-{api}-{kind}", api, deployment)

    def attacked(self, service: Service, defence: Defence, draws: int = 1) -> Releases:
        """What ``service`` answers about the attacked images, or their chosen pairs: the mean of ``draws``
        questions."""
        images = self.targets.images.ravel()
        samples = images[self.pairs] if service.api == "verification" else images
        return self.asked(service, defence, samples, draws)

    def asked(
        self, service: Service, defence: Defence, samples: NDArray[np.int64], draws: int = 1
    ) -> Releases:
        """What ``service`` answers about ``samples``: the mean of ``draws`` questions."""
        found = [
            self.channel.ask(service, defence.chain, self.people, samples, draw=draw) for draw in range(draws)
        ]
        return np.asarray(np.stack(found).mean(axis=0, dtype=np.float64), dtype=np.float32)
