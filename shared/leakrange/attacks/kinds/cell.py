"""What a kind of attack knows when trials are planned, and what it can have planned for them."""

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

    ``streams`` are users' uploads, in the order of the draws; ``probes`` are questions by the role that they
    have for the attack, likewise; ``shadows`` are models of the attacker's own. ``asked`` is what the kind
    itself wants to know again when the trial is judged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    streams: list[str] = []
    probes: dict[str, list[str]] = {}
    shadows: list[str] = []
    asked: dict[str, Any] = {}


class Cell(Protocol):
    """One cell of a scenario's matrix. What is planned for several cells is planned once."""

    @property
    def provider(self) -> Offer:
        """Who is attacked."""

    @property
    def target(self) -> Target:
        """What the attack is after there."""

    @property
    def knowledge(self) -> Knowledge:
        """What the attacker knows of the defence."""

    @property
    def budget(self) -> int:
        """How many samples it may have answered, or sees."""

    @property
    def available(self) -> int | None:
        """How many auxiliary records there are; None where that is not known."""

    @property
    def data(self) -> DataSpec:
        """The data of the model that is attacked, for who must not know what it was trained on."""

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
        """Users upload their outputs ``draws`` times, once where all would be the same; a stream for each."""

    def ask(
        self,
        split: Split,
        count: int,
        *,
        undefended: bool = False,
        by: Literal["attacker", "device", "users"] = "attacker",
    ) -> list[str]:
        """The API is asked about the first ``count`` samples of a split (pairs of samples, of a
        verification), as often as the attacker asks, or once by users; a probe for each time. An attacker
        with a device does to samples what the defence has users' devices do."""

    def shadow(self, number: int) -> str:
        """The attacker trains the shadow of that number; its id."""
