"""What a kind of attack can see and request while trials are planned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from leakrange.attacks.attack import Knowledge
from leakrange.attacks.kinds.target import Target
from leakrange.data import Attribute, Names
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span, Split
from leakrange.strict import Strict
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.releases import ReleaseKind

__all__ = ["AskedStep", "Cell", "Needs", "Offer"]


@dataclass(frozen=True, kw_only=True)
class Offer(ABC):
    """A provider as its scenario describes it."""

    data: DataSpec
    """What its models are trained on."""
    attributes: Mapping[str, Attribute]
    """The known attributes of a sample of that data."""
    release: ReleaseKind
    """What its answers are."""
    target: Names
    """The attribute that it is asked for, or several."""
    sensitive: str | None = None
    """The attribute that it hides, or that attackers are after. Of several `Kind.target` is offered one
    after the other; later `Target.hidden` says which one it is."""
    service: ServiceSpec | None = None
    """The service in front of its model; None where users upload outputs."""

    @property
    def no_uploads(self) -> str | None:
        """The reason why users upload nothing to it; None where they do."""
        if self.service is None:
            return None
        return f"it is a {self.service.kind} service, to which nobody uploads anything"

    @property
    @abstractmethod
    def trains(self) -> bool:
        """Whether the range trains its model, so that an attacker may have a copy."""

    @property
    @abstractmethod
    def decodes(self) -> bool:
        """Whether it reads a hidden attribute from what users send."""

    @property
    @abstractmethod
    def reconstructs(self) -> bool:
        """Whether it reads whole samples from what users send."""


class AskedStep(Strict):
    """A step that a trial asks for: the name of its kind, and its ``parameters``."""

    step: str
    parameters: dict[str, Any] = {}


class Needs(Strict):
    """What a trial needs, by the ids of the plan.

    ``streams`` are the users' uploads, one for each draw; ``undefended`` are those of the same samples where
    nothing is defended. ``probes`` are queries by their role in the attack, also one for each draw.
    ``shadows`` are the attacker's own models, which release their outputs for the spans of ``shows``.
    ``steps`` are further steps by their role; `Trial.taken` returns their results. ``hands_in`` is the role
    of a fit whose ``scores`` a user uploads in place of the outputs of the provider's model; scores beyond
    the users' are of the provider's own records, and are decoded behind theirs. ``asked`` is whatever the
    kind needs again when the trial is judged.
    """

    streams: list[str] = []
    undefended: list[str] = []
    probes: dict[str, list[str]] = {}
    shadows: list[str] = []
    shows: list[Span] = []
    steps: dict[str, AskedStep] = {}
    hands_in: str = ""
    asked: dict[str, Any] = {}


@dataclass(kw_only=True)
class Cell(ABC):
    """One cell of a scenario's matrix. Work that several cells need is planned once."""

    provider: Offer
    """The provider that is attacked."""
    target: Target
    """What the attack is meant to infer."""
    knowledge: Knowledge
    """What the attacker knows of the defence."""
    budget: int
    """The number of answers that the attacker may use, or of uploads that it sees, in samples."""
    policy: list[Any]
    """The chain of output defences that the API applies; empty where it applies none."""
    changes_devices: bool
    """Whether the defence changes samples or the model on users' devices."""
    changes_model: bool
    """Whether it changes the model. An attacker with a device who knows that runs the changed model, and asks
    nobody."""
    substitutes: bool
    """Whether the defence puts records of others in place of users' samples."""
    devices_defend: bool
    """Whether users' devices have defences of their own."""

    @property
    @abstractmethod
    def data(self) -> DataSpec:
        """The data of the attacked model, in a form that does not reveal which records it was trained on."""

    @abstractmethod
    def available(self, split: Split = "auxiliary", data: DataSpec | None = None) -> int | None:
        """The number of samples that a split of the provider's data, or of another set, holds; None where it
        is not known."""

    @abstractmethod
    def uploads(self, draws: int = 1, *, undefended: bool = False) -> list[str]:
        """The streams of users' uploads, one for each of ``draws``; a single one where all draws would be
        equal. Those that are ``undefended`` are of the same samples, without the cell's defence."""

    @abstractmethod
    def ask(
        self,
        split: Split,
        count: int,
        *,
        data: DataSpec | None = None,
        undefended: bool = False,
        by: Literal["attacker", "device", "users"] = "attacker",
        references: int = 0,
        variant: int = 0,
        crafted: str = "",
        repeated: bool = True,
    ) -> list[str]:
        """Plans queries about the first ``count`` samples of a split (pairs of samples, for a verification)
        of the provider's data or of another set, one probe for each repetition, or one alone for users and
        for what is not ``repeated``. An
        attacker with a device applies the defence's changes to samples first; where the defence changes the
        model as well, the device downloads the model and answers by itself. With ``references``, the pairs
        are of each sample with each of so many images of the public. ``variant`` is that of the samples;
        ``crafted`` names those that stand in their place (see `Span`)."""

    @abstractmethod
    def crafted(self, span: Span, shadows: list[str]) -> Span:
        """Plans samples that are crafted against those shadows; returns the span with them in its place."""

    @abstractmethod
    def shadow(self, number: int) -> str:
        """Plans the attacker's shadow model of that number; returns its id."""

    @abstractmethod
    def composed(self, number: int, share: float, *, stand_in: bool) -> str:
        """Plans a model of that number, trained on samples of which ``share`` has the attribute of the data's
        composition: the attacker's own, or a ``stand_in`` for the provider's; returns its id."""

    @abstractmethod
    def recogniser(self) -> str:
        """Plans the attacker's own recogniser, a shadow that is trained on the public; returns its id."""

    @abstractmethod
    def copy(self) -> str:
        """Plans a copy of the attacked model that the attacker has, and that releases features; returns its
        id. Only of a provider that ``trains``."""
