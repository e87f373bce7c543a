"""The interface of a kind of attack: all that the rest of the range knows of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Fit, Judged, Trial
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.jobs.steps.fit import FitJob
from leakrange.strict import Strict

__all__ = ["Asks", "Chunks", "Kind", "ReleaseStore", "SomeChunks"]

Chunks = list[list[str]]
"""Stored releases by identity: chunks of samples in order, each with its draws."""
SomeChunks = Annotated[Chunks, Field(min_length=1)]
"""The same, of at least one chunk."""


class ReleaseStore(Protocol):
    """The store of releases, as a fit sees it."""

    def __call__(self, chunks: Chunks, /) -> NDArray[np.float32]:
        """All samples in order, (samples, ...), each the mean of its draws. Raises `NotFound` if a release is
        not stored, `InvalidInput` if releases do not fit together."""
        ...

    def arrays(self, identity: str, /) -> Mapping[str, NDArray[Any]]:
        """The arrays that a step of that identity stored. Raises `NotFound` if there are none."""
        ...

    def once(
        self, name: str, make: Callable[[], Mapping[str, NDArray[Any]]], /
    ) -> Mapping[str, NDArray[Any]]:
        """Return arrays that many fits need and that are costly to ``make``, stored under ``name``, a digest
        of all that decides them. The first fit that asks for them makes them, and the others wait for it."""
        ...


Asks = Literal["membership", "attribute", "reconstruction"]


class NoEvidence(Strict):
    """The empty evidence of a kind that fits nothing in the fleet."""


class Kind(ABC):
    """What all attacks of one kind share. A kind has no state. ``version`` is raised when the same releases
    give other results than before.

    Scenarios are checked with `target` and `buys`, and planned with `plan`. When everything that a trial
    needs is stored, the controller asks for its `fits`, the fleet calls `infer` for each, and the controller
    calls `judge` with their results. None of these methods starts work in the fleet by itself.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    leakage: ClassVar[str]
    """The name of the main leakage metric."""
    hides: ClassVar[str] = ""
    """What its attacks find out, in plain words, where that is no attribute."""
    on_device: ClassVar[bool] = False
    """Whether the attacker queries with a device of its own, and so can apply a defence of samples there."""
    wants_values: ClassVar[bool] = False
    """Whether its attacks read how sure a model is. Of a model that tells labels alone they find too little:
    others would, which ask around each record."""
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

    def infer(
        self, attack: Any, evidence: Any, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """Runs in the fleet. Returns arrays by name, given an instance of the attack and the job's
        ``evidence``, which is parsed as `Evidence`. Raises `InvalidInput` for evidence that cannot be used,
        `NotFound` for releases that are not stored."""
        raise NotImplementedError(f"attacks of the kind {self.name!r} fit nothing in the fleet")

    def fits(self, trial: Trial) -> Mapping[str, Fit]:  # noqa: ARG002
        """What the fleet fits for the trial, by role; nothing by default. A function of the plan and of what
        is stored for the trial's needs: the same fits have the same names, and are made once. Raises
        `LeakrangeError` where the evidence is not there."""
        return {}

    @abstractmethod
    def judge(self, trial: Trial) -> Judged:
        """The metrics and views of the attack: a function of what is stored for the trial. Raises
        `LeakrangeError` where they cannot be computed."""

    def judge_recorded(
        self,
        attack: type[Attack],  # noqa: ARG002
        answers: RecordedAnswers,  # noqa: ARG002
        seed: int,  # noqa: ARG002
    ) -> Judged | str:
        """The metrics and views of the attack on answers that were recorded elsewhere, with its default
        parameters; or the reason why these answers do not do. By default an attack needs to ask."""
        return "it asks questions of its own, which nothing recorded answers"
