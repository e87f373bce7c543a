"""The interface of an attack: what it reads, what its threat model grants it, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.jobs.versions import VersionChange
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = [
    "Ask",
    "AskingWalk",
    "Attack",
    "AttributeAttack",
    "Evidence",
    "Inference",
    "Pairs",
    "ReconstructionAttack",
    "Walk",
    "WalkingAttack",
    "check_lengths",
]

Knowledge = Literal["unaware", "aware", "averaging"]
Ask = Callable[[NDArray[Any]], NDArray[np.float32]]
"""Asks a model for its answers (B, Y) about samples (B, *shape)."""
Make = Callable[[], Mapping[str, NDArray[Any]]]


def check_lengths(**arrays: NDArray[Any] | None) -> None:
    """Raise `InvalidInput` where arrays that have an entry for each of the same records, by name, are of
    different lengths; those that are None are left out."""
    lengths = {name: len(each) for name, each in arrays.items() if each is not None}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{length} of {name!r}" for name, length in lengths.items())
        raise InvalidInput(f"there must be as many of each, and there are {told}")


def _made_here(_name: str, make: Make) -> Mapping[str, NDArray[Any]]:
    return make()


@dataclass(frozen=True)
class Evidence:
    """The input of an attack that is fitted in the fleet.

    auxiliary: releases (A, N) float32 of samples whose hidden attribute the attacker knows. auxiliary_labels:
    (A,), 0 .. classes − 1. observed: the victims' releases (V, N) float32. release: the kind of the releases.
    Repeated draws are averaged already. auxiliary_group: (A,), equal for samples that resemble each other,
    such as several pictures of one person; None where all samples are independent. samples: those samples
    themselves (A, *shape), of ``spec``; None where the attacker has only their releases.
    """

    auxiliary: NDArray[np.float32]
    auxiliary_labels: NDArray[np.int64]
    observed: NDArray[np.float32]
    classes: int
    release: str
    seed: int = 0
    auxiliary_group: NDArray[np.int64] | None = None
    samples: NDArray[Any] | None = None
    spec: SampleSpec | None = None


@dataclass(frozen=True)
class Pairs:
    """The input of an attack that learns to reconstruct samples.

    auxiliary: releases (A, ...) float32 of the attacker's own ``samples`` (A, *shape), which are of ``spec``.
    observed: the victims' releases (V, ...) float32. Repeated draws are averaged already. unasked: more of
    the attacker's own samples (M, *shape), about which it did not ask; None where it has no others.
    """

    auxiliary: NDArray[np.float32]
    samples: NDArray[Any]
    observed: NDArray[np.float32]
    spec: SampleSpec
    seed: int = 0
    unasked: NDArray[Any] | None = None


@dataclass(frozen=True)
class Walk:
    """The input of an attack that chooses what it asks: ``samples`` (N, *shape) of ``spec``, their classes
    ``labels`` (N,) where the attacker knows them, and how many ``queries`` it has, about each or in all.
    ``once`` keeps arrays that follow from the samples and a name alone, for all walks that need them."""

    samples: NDArray[Any]
    labels: NDArray[np.int64] | None
    spec: SampleSpec
    release: str
    queries: int
    seed: int
    once: Callable[[str, Make], Mapping[str, NDArray[Any]]] = _made_here


@dataclass(frozen=True)
class Inference:
    """The output of an attack: predicted classes of the victims (V,) int64, and scores (V, S) float32, higher
    meaning more likely. Of A attributes predictions are (V, A), and their scores lie side by side."""

    predicted: NDArray[np.int64]
    scores: NDArray[np.float32]
    learnt: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The arrays with which `AttributeAttack.again` infers from further releases; empty if the attack
    cannot."""
    panel: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """For an attack that chooses among learners, best first: the ``learner`` (L,) and its ``view`` (L,) of
    the releases, by name, its ``area`` and log ``loss`` (L,) on held-out records, and its ``scores`` (L, V,
    S). The ``ranks`` (A, S) of held-out records by the best one, their ``truth`` (A,), and ``group`` (A,)
    where some resemble each other."""

    def of(self, place: int, classes: Sequence[int]) -> Inference:
        """Return the inference about one of several attributes, which have ``classes`` classes each."""
        if len(classes) == 1:
            return self
        first = sum(classes[:place])
        return Inference(self.predicted[:, place], self.scores[:, first : first + classes[place]])


class Attack(ABC):
    """A registered attack; instances carry its parameters.

    ``kind`` names its `leakrange.attacks.kinds.Kind`. ``consumes`` are the releases that it reads,
    ``knowledge`` the kinds of attacker that it can play, ``grants`` what its threat model gives it. Another
    ``version`` gives other results for the same evidence, so that figures of two are not of one attack;
    ``changes`` may tell by version what it changed (see `VersionChange`). A ``control`` reads nothing of the
    model: it is a baseline for attacks, and never the strongest. Where ``labels_suffice``, an attack is made
    for answers that tell the class alone.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, VersionChange]] = MappingProxyType({})
    summary: ClassVar[str]
    paper: ClassVar[str]
    equation: ClassVar[str]
    consumes: ClassVar[tuple[str, ...]]
    grants: ClassVar[tuple[str, ...]]
    kind: ClassVar[str]
    control: ClassVar[bool] = False
    labels_suffice: ClassVar[bool] = False
    knowledge: ClassVar[tuple[Knowledge, ...]]
    Parameters: ClassVar[type[BaseModel]]
    arrays: ClassVar[type[Any] | None] = None
    """The dataclass that `on_arrays` takes; None for an attack that is made in a range alone."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The fields of ``arrays`` that it cannot do without, beside those that nothing fills."""

    def __init__(self, parameters: Any = None) -> None:
        self.parameters: Any = self.Parameters() if parameters is None else parameters

    @classmethod
    def arrays_filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """The fields of ``arrays`` that are ``given``, and those that follow from them."""
        return given

    def on_arrays(self, evidence: Any) -> Any:
        """What it infers from its ``arrays``. Raises `InvalidInput` for evidence that cannot be used."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class AskingWalk(Walk):
    """A walk about a model that ``ask`` asks: called with samples (B, *shape) it returns answers (B, Y)."""

    ask: Ask
    labels: NDArray[np.int64] | None = None
    spec: SampleSpec
    release: str = "softmax"
    seed: int = 0


class WalkingAttack(Attack):
    """An attack that chooses what it asks by earlier answers."""

    arrays: ClassVar[type[Any] | None] = AskingWalk

    def on_arrays(self, evidence: Any) -> Any:
        """The arrays of `walk`, by name."""

        def ask(samples: NDArray[Any]) -> NDArray[np.float32]:
            answers = np.asarray(evidence.ask(samples), np.float32)
            if answers.ndim != 2 or len(answers) != len(samples) or not np.isfinite(answers).all():
                raise InvalidInput(
                    f"'ask' gave answers {answers.shape} about {len(samples)} samples, or some that are no"
                    " number",
                    hint="it takes samples (B, ...) and returns one row of numbers for each",
                )
            return answers

        return self.walk(evidence, ask)

    @abstractmethod
    def walk(self, start: Walk, ask: Ask) -> dict[str, NDArray[Any]]:
        """Arrays by name, among them how often each sample was ``asked`` about (N,). The same answers lead to
        the same questions. Raises whatever ``ask`` raises, and `InvalidInput` for what it cannot use."""


class ReconstructionAttack(Attack):
    """An attack on whole samples, which is fitted on releases of samples that the attacker has."""

    kind: ClassVar[str] = "reconstruction"
    arrays: ClassVar[type[Any] | None] = Pairs

    def on_arrays(self, evidence: Any) -> Any:
        """See `reconstruct`."""
        return self.reconstruct(evidence)

    @abstractmethod
    def reconstruct(self, evidence: Pairs) -> NDArray[np.float32]:
        """The victims' samples (V, *shape), in their own units. Raises `InvalidInput` for evidence that it
        cannot use."""

    @classmethod
    def misfit(cls, parameters: Any, spec: SampleSpec) -> str | None:  # noqa: ARG003
        """Why an attack of those parameters cannot reconstruct samples of ``spec``; None where it can."""
        return None


class AttributeAttack(Attack):
    """An attack on an attribute, which is fitted on releases of labelled records."""

    kind: ClassVar[str] = "attribute"
    keeps: ClassVar[bool] = False
    """Whether its `Inference` has something ``learnt``, for `again`."""
    arrays: ClassVar[type[Any] | None] = Evidence

    @classmethod
    def arrays_filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With as many ``classes`` as there are labels, where their number is not given."""
        labels = given.get("auxiliary_labels")
        return given if labels is None else {"classes": int(labels.max(initial=0)) + 1, **given}

    def on_arrays(self, evidence: Any) -> Any:
        """See `infer`."""
        return self.infer(evidence)

    @abstractmethod
    def infer(self, evidence: Evidence) -> Inference:
        """Predict the victims' hidden attribute. Raises `InvalidInput` for evidence that cannot be used."""

    @classmethod
    def again(cls, learnt: Mapping[str, NDArray[Any]], observed: NDArray[np.float32]) -> Inference:
        """Infer from further releases (V, N) of the same kind, without PyTorch, with what an attack that
        ``keeps`` has learnt. Raises `InvalidInput` for an attack that keeps nothing, and for releases of
        another length."""
        del learnt, observed
        raise InvalidInput(f"the attack {cls.name!r} keeps nothing of what it learns")
