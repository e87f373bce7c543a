"""The interface of a kind of attack: all that the rest of the range knows of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.jobs.job import FitJob

__all__ = ["Asks", "Chunks", "Kind", "Releases"]

Chunks = list[list[str]]
"""Stored releases by identity: chunks of samples in order, each with its draws."""


class Releases(Protocol):
    """The store of releases, as a fit sees it."""

    def __call__(self, chunks: Chunks, /) -> NDArray[np.float32]:
        """All samples in order, (samples, ...), each the mean of its draws. Raises `NotFound` for such as are
        not stored, `InvalidInput` for such as do not fit together."""
        ...

    def once(
        self, name: str, make: Callable[[], Mapping[str, NDArray[Any]]], /
    ) -> Mapping[str, NDArray[Any]]:
        """Arrays that many fits need and that are costly to ``make``: those stored under ``name``, a digest
        of all that decides them. The first fit that asks for them makes them, and the others wait for it."""
        ...


Asks = Literal["membership", "attribute", "reconstruction"]


class NoEvidence(BaseModel):
    """Empty: that of a kind that fits nothing in the fleet."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Kind(ABC):
    """What all attacks of one kind share. A kind has no state. ``version`` is raised when the same releases
    give other results than before.

    Scenarios are checked with `target` and `buys`, and planned with `plan`. The fleet calls `infer` for jobs
    that fit an attack. The controller calls `judge` when everything that a trial needs is there.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    leakage: ClassVar[str]
    """The name of the main metric of what was found out."""
    on_device: ClassVar[bool] = False
    """Whether the attacker queries with a device of its own, and so can apply a defence of samples there."""
    asks: ClassVar[Asks | None] = "attribute"
    """Which load users ask its questions in a run under load; None of a kind that asks none."""
    Evidence: ClassVar[type[BaseModel]] = NoEvidence
    """The form of the evidence in a job for the fleet."""

    @abstractmethod
    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The target of the attack with the parameters ``given`` at that provider, or the reason why it
        cannot be tried there.

        The attack reads the kind of release that the provider gives. Raises `ValidationError` for parameters
        that the attack does not take.
        """

    def buys(
        self,
        target: Target,
        provider: Offer,  # noqa: ARG002
        knowledge: Knowledge,
        budget: int,
        available: int | None = None,
    ) -> int | None:
        """The number of records whose releases a budget (in samples) buys; None where it buys too few.
        ``available`` is the number of auxiliary records, None where it is not known.

        By default these are auxiliary records, each queried as often as the attacker repeats its queries.
        """
        return target.affordable(budget // target.answers(knowledge), available)

    @abstractmethod
    def plan(self, cell: Cell) -> Needs | None:
        """What a trial needs; None where the cell makes no sense or its budget buys too little."""

    def infer(self, attack: Any, evidence: Any, job: FitJob, releases: Releases) -> dict[str, NDArray[Any]]:
        """Runs in the fleet. Returns arrays by name, given an instance of the attack and the job's
        ``evidence``, which is parsed as `Evidence`. Raises `InvalidInput` for evidence that cannot be used,
        `NotFound` for releases that are not stored."""
        raise NotImplementedError(f"attacks of the kind {self.name!r} fit nothing in the fleet")

    @abstractmethod
    async def judge(self, trial: Trial) -> Judged:
        """Runs in the controller, when everything that the trial needs is there. Returns the metrics and
        views of the attack. Raises `LeakrangeError` where they cannot be computed."""
