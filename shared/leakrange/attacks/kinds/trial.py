"""What a kind of attack reads to judge a trial, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.cell import Needs, Service
from leakrange.jobs.job import Span
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.metrics import Estimate
from leakrange.wire.errors import LeakrangeError

__all__ = ["Fitted", "Judged", "Model", "Shown", "Trial", "Uploaded"]


@dataclass(frozen=True)
class Judged:
    """The result of an attack: its metrics, the data of its charts, the number of victims, and the number of
    samples that it had answered, or saw."""

    metrics: dict[str, Estimate]
    views: dict[str, Any]
    victims: int
    spent: int


@dataclass(frozen=True)
class Uploaded:
    """A stream of uploads: the users' true classes by attribute, the decisions that they got (V,), and what
    the provider's decoder inferred, if it has one."""

    truths: Sequence[Mapping[str, Sequence[int]]]
    decisions: NDArray[np.int64]
    inferred: Inference | None

    def truth(self, attribute: str) -> NDArray[np.int64]:
        """The users' classes of one attribute (V,), -1 where unknown.

        Raises `LeakrangeError` where a session did not register that attribute. An edge client of another
        version may load a data set with other attributes.
        """
        for labels in self.truths:
            if attribute not in labels:
                raise LeakrangeError(
                    f"the edge client registered no {attribute!r} of its users, only "
                    f"{', '.join(map(repr, sorted(labels))) or 'nothing'}",
                    hint="is it of another version than the controller?",
                )
        return np.concatenate([np.asarray(labels[attribute], dtype=np.int64) for labels in self.truths])


@dataclass(frozen=True)
class Fitted:
    """The result of a job of the fleet: arrays by name, stored under the job's identity."""

    identity: str
    arrays: Mapping[str, NDArray[Any]]

    @property
    def inference(self) -> Inference:
        """Classes and scores of the victims."""
        return Inference(self.arrays["predicted"], self.arrays["scores"])


@dataclass(frozen=True)
class Shown:
    """The training data of a shadow model, and the identity of its stored releases for a span."""

    data: DataSpec
    releases: str


class Model(Protocol):
    """The model that is attacked."""

    @property
    def id(self) -> str:
        """Its name in the plan."""

    @property
    def recipe(self) -> TrainingRecipe:
        """How it was trained."""

    @property
    def release(self) -> str:
        """What its answers are."""

    @property
    def target(self) -> str:
        """The attribute that it is asked for."""

    @property
    def service(self) -> Service | None:
        """What is put before it, if anything."""


class Trial(Protocol):
    """A trial whose needs are met."""

    @property
    def attack(self) -> str:
        """Its name in the scenario."""

    @property
    def hidden(self) -> str:
        """The name of what it infers."""

    @property
    def classes(self) -> int:
        """The number of classes of that."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the attack."""

    @property
    def budget(self) -> int:
        """The number of answers that the attack may use, or of uploads that it sees, in samples."""

    @property
    def seed(self) -> int:
        """The seed of the trial."""

    @property
    def needs(self) -> Needs:
        """What was planned for it."""

    @property
    def model(self) -> Model:
        """The model that is attacked."""

    @property
    def uploaded(self) -> Uploaded:
        """The first stream of the needs."""

    @property
    def users(self) -> list[Span]:
        """The samples of its sessions."""

    @property
    def observed(self) -> list[list[str]]:
        """The identities of the releases that users uploaded: chunks, each with its draws."""

    def answered(self, role: str) -> list[list[str]]:
        """The identities of the answers to the probes of a role, as for `observed`; empty where there are no
        such probes."""

    def answers(self, role: str) -> NDArray[np.float32]:
        """These answers, each the mean of its draws."""

    def members(self, pool: int) -> NDArray[np.bool_]:
        """Which of the ``pool`` samples the model was trained on (pool,), from the record of its training.
        Raises `LeakrangeError` where the record does not say."""

    async def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span."""

    async def fitted(self, evidence: BaseModel) -> Fitted:
        """The result of fitting the attack on that evidence in the fleet; stored results are used again."""

    async def handed_in(self, student: Fitted) -> Uploaded:
        """Uploads a user's own model's soft outputs ("scores") for the users' samples, in place of the
        provider's model's. Returns what the provider made of them."""
