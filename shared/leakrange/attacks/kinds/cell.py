"""What a kind of attack can see and request while trials are planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from leakrange.attacks.attack import Knowledge
from leakrange.attacks.kinds.target import Target
from leakrange.data import Attribute
from leakrange.jobs.job import Split
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Distance

__all__ = ["Cell", "Needs", "Offer", "Service"]


class Service(Protocol):
    """A service that a provider puts before its model."""

    @property
    def kind(self) -> str:
        """What is asked: features, verification or recognition."""

    @property
    def distance(self) -> Distance:
        """What a verification answers with."""


class Offer(Protocol):
    """A provider as its scenario describes it."""

    @property
    def data(self) -> DataSpec:
        """What its models are trained on."""

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """What is known of a sample of that data."""

    @property
    def release(self) -> ReleaseKind:
        """What its answers are."""

    @property
    def target(self) -> str:
        """The attribute that it is asked for."""

    @property
    def sensitive(self) -> str | None:
        """The attribute that it hides, or that attackers are after."""

    @property
    def service(self) -> Service | None:
        """What it puts before its model; None where users upload outputs."""

    @property
    def decodes(self) -> bool:
        """Whether it reads a hidden attribute from what users send."""


class Needs(BaseModel):
    """What a trial needs, by the ids of the plan.

    ``streams`` are the users' uploads, one for each draw. ``probes`` are queries by their role in the attack,
    also one for each draw. ``shadows`` are the attacker's own models. ``asked`` is whatever the kind needs
    again when the trial is judged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    streams: list[str] = []
    probes: dict[str, list[str]] = {}
    shadows: list[str] = []
    asked: dict[str, Any] = {}


class Cell(Protocol):
    """One cell of a scenario's matrix. Work that several cells need is planned once."""

    @property
    def provider(self) -> Offer:
        """The provider that is attacked."""

    @property
    def target(self) -> Target:
        """What the attack is meant to infer."""

    @property
    def knowledge(self) -> Knowledge:
        """What the attacker knows of the defence."""

    @property
    def budget(self) -> int:
        """The number of answers that the attacker may use, or of uploads that it sees, in samples."""

    @property
    def available(self) -> int | None:
        """The number of auxiliary records; None where it is not known."""

    @property
    def data(self) -> DataSpec:
        """The data of the attacked model, in a form that does not reveal which records it was trained on."""

    @property
    def policy(self) -> list[Any]:
        """The chain of output defences that the API applies; empty where it applies none."""

    @property
    def changes_devices(self) -> bool:
        """Whether the defence changes samples or the model on users' devices."""

    @property
    def devices_defend(self) -> bool:
        """Whether users' devices have defences of their own."""

    def uploads(self, draws: int = 1) -> list[str]:
        """The streams of users' uploads, one for each of ``draws``; a single one where all draws would be
        equal."""

    def ask(
        self,
        split: Split,
        count: int,
        *,
        undefended: bool = False,
        by: Literal["attacker", "device", "users"] = "attacker",
    ) -> list[str]:
        """Plans queries about the first ``count`` samples of a split (pairs of samples, for a verification),
        one probe for each repetition, or a single one for users. An attacker with a device applies the
        defence's changes to samples first."""

    def shadow(self, number: int) -> str:
        """Plans the attacker's shadow model of that number; returns its id."""
