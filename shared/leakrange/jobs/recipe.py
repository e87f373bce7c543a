"""Training recipes. A recipe's digest names the artifact, so that no model is trained twice."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leakrange.jobs.versions import DEFENCE, Versions
from leakrange.strict import Strict
from leakrange.wire.digests import digest
from leakrange.wire.errors import Conflict

__all__ = [
    "Composition",
    "Crowd",
    "DataSpec",
    "NetSpec",
    "OptimiserSpec",
    "Schedule",
    "Subset",
    "TrainingRecipe",
]


class Subset(Strict):
    """A pool of training samples, of which a random part is trained on: the members.

    ``pool`` samples are drawn by the seed of the `DataSpec`, so all subsets of one specification share a
    pool. ``seed`` draws ``share`` of the pool as members. With ``rest`` the other samples are the members:
    of two subsets that differ only in ``rest``, each sample of the pool is a member of exactly one.

    A model that somebody else trained has members already. ``members`` names the attribute, with the classes
    "no" and "yes", that says who they are: ``share`` of the pool are such, and the others come from the rest
    of the set, as do all further splits. ``drawn`` draws members by the seed all the same, from that pool:
    for an attacker's own models, and for whoever must not know the members.

    With ``canaries`` every sample of the pool is a member by a fair coin of its own, which ``seed`` tosses,
    and so many of them, which the seed of the `DataSpec` draws, have wrong labels: they stand out most.
    """

    pool: Annotated[int, Field(ge=20, le=1_000_000)]
    share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    rest: bool = False
    members: Annotated[str | None, Field(min_length=1, exclude_if=lambda name: name is None)] = None
    drawn: Annotated[bool, Field(exclude_if=lambda drawn: not drawn)] = False
    canaries: Annotated[int | None, Field(ge=20, exclude_if=lambda count: count is None)] = None
    # What was stored before there were these fields keeps its name: they are left out where unused.

    @model_validator(mode="after")
    def _drawn_from_known(self) -> Self:
        if self.drawn and self.members is None:
            raise ValueError("'drawn' is for a pool of known 'members': all others are drawn anyway")
        return self

    @model_validator(mode="after")
    def _of_fair_coins(self) -> Self:
        if self.canaries is not None:
            if self.share != 0.5 or self.members is not None:
                raise ValueError(
                    "with 'canaries' fair coins draw the members: leave out 'share' and 'members'"
                )
            if self.canaries > self.pool:
                raise ValueError(f"of a pool of {self.pool} there cannot be {self.canaries} canaries")
        return self

    def redrawn(self, *what: str | int, rest: bool = False) -> Subset:
        """Return the same pool and share with other members, chosen by ``what``."""
        seed = int(digest([self.seed, *what])[:12], 16)
        return self.model_copy(update={"seed": seed, "rest": rest, "drawn": self.members is not None})

    def of_everyone(self) -> Subset:
        """Return the same pool without the model's own draw of members: with the first subset's seed."""
        everyone = {"seed": 0, "rest": False, "drawn": self.members is not None}
        return self.model_copy(update=everyone)


class Composition(Strict):
    """Training samples of which a stated share has one class of an attribute.

    ``samples`` are drawn by ``seed``, ``share`` of them with the class ``having`` of ``attribute``. They are
    training samples, or of ``by`` "attacker" some of its own: see `leakrange.data.composition`. Without a
    share, nothing is drawn: for whoever must not know it, and for a model of which nobody tells it.
    """

    attribute: Annotated[str, Field(min_length=1)]
    having: Annotated[str, Field(min_length=1)]
    samples: Annotated[int, Field(ge=20, le=1_000_000)]
    share: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    by: Literal["provider", "attacker"] = "provider"
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0

    def redrawn(self, *what: str | int | float, **changes: Any) -> Composition:
        """Return other samples of the same composition, chosen by ``what``, with those ``changes``."""
        return self.model_copy(update={"seed": int(digest([self.seed, *what])[:12], 16), **changes})


class Crowd(Strict):
    """The people of a data set (see `leakrange.data.people`) whose pictures are sent to a face recognition
    service.

    Membership can be inferred for ``people`` members and as many outsiders, with ``images`` of each.
    ``public`` people with four images each are the service's honest users. A recognition learns
    ``students`` people from ``enrolled`` images of each, and is tested on ``held`` others of each.
    """

    people: Annotated[int, Field(ge=10, le=100_000)] = 100
    images: Annotated[int, Field(ge=2, le=1000)] = 15
    public: Annotated[int, Field(ge=20, le=100_000)] = 40
    students: Annotated[int, Field(ge=2, le=10_000)] = 20
    enrolled: Annotated[int, Field(ge=1, le=1000)] = 10
    held: Annotated[int, Field(ge=1, le=1000)] = 5
    learners: Literal["members", "public"] = "members"
    """Whose images are trained on: a teacher's members, or the public for an attacker's own recogniser."""
    version: Literal[2] = 2
    """Of how these people are drawn: nothing that was stored about a crowd of another draw is used again."""

    @property
    def asked(self) -> int:
        """The number of people whose membership can be inferred: members and outsiders."""
        return 2 * self.people


class DataSpec(Strict):
    """Which samples, at which size, and how they are split.

    ``size`` is a picture's side in pixels (None: the set's own); ``limit`` keeps the first so many of each
    split, for quick runs; ``auxiliary`` and ``validation`` are the shares of the training samples set aside
    for the outside attacker and for model selection; ``seed`` draws the split (and the faces, for procedural
    sets), never the training.
    """

    name: str
    size: Annotated[int, Field(ge=16, le=512)] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    count: Annotated[int, Field(ge=10, le=1_000_000)] | None = None
    """How many samples a procedural set draws (None: its default); refused for sets that are given."""
    validation: Annotated[float, Field(ge=0.0, lt=0.5)] = 0.1
    auxiliary: Annotated[float, Field(ge=0.0, lt=0.8)] = 0.15
    seed: int = 0
    subset: Subset | None = None
    """Train on a random part of a pool of training samples alone (None: on all of them)."""
    crowd: Crowd | None = None
    """Of a set of cast people: whom a face recognition service meets."""
    composition: Annotated[Composition | None, Field(exclude_if=lambda given: given is None)] = None
    """Train on samples of which a stated share has one class of an attribute."""

    @model_validator(mode="after")
    def _one_pool(self) -> Self:
        given = [name for name in ("subset", "crowd", "composition") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"training samples are drawn in one way, not by {' and '.join(given)}")
        return self

    def of_everyone(self) -> DataSpec:
        """Return the same samples and pool without the model's own draw of members: with the first subset's
        seed, and without the share of a composition."""
        if self.composition is not None:
            everyone = self.composition.model_copy(update={"share": None, "by": "provider", "seed": 0})
            return self.model_copy(update={"composition": everyone})
        if self.subset is None:
            return self
        return self.model_copy(update={"subset": self.subset.of_everyone()})


class NetSpec(Strict):
    """A registered architecture; ``width`` scales its layers (1.0: as in the paper)."""

    name: str = "hbc"
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0


class OptimiserSpec(Strict):
    """Adam, or stochastic gradient descent (``sgd``) with a ``momentum``; ``weight_decay`` is the L2 kind,
    but with ``adamw``: that is Adam whose parameters shrink by lr·weight_decay in each step."""

    name: Literal["adam", "adamw", "sgd"] = "adam"
    weight_decay: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0

    @model_validator(mode="after")
    def _meant(self) -> Self:
        if self.momentum and self.name != "sgd":
            raise ValueError("momentum is a setting of sgd: Adam has moments of its own")
        return self


class Schedule(Strict):
    """Epochs, batch size, learning rate, optimiser, augmentation, the epoch that is kept, and two options of
    speed.

    With ``augment`` a batch also holds a copy of each of its pictures that is changed at random
    (`leakrange.providers.augmentation`), so that it has twice as many samples as ``batch`` says. With
    "varied" each picture is itself mirrored, moved and lit at random (`leakrange.providers.variation`).

    ``select`` says which epoch is kept: the "best" on the validation samples, or the "last", which lets a
    model overfit its training samples; of data with a crowd also the one that tells "strangers" apart best
    (`leakrange.providers.strangers`). With ``patience`` the training ends when no epoch was better for so
    many, at the latest after ``epochs``. ``decay`` says how the learning rate goes down from epoch to epoch:
    not at all, or as half a cosine, to near 0 in the last one. ``channels_last`` is faster on every CPU that
    was tried. ``bf16`` needs a GPU, or a CPU with AVX512-BF16 or AMX; on other CPUs a step takes ten times as
    long.
    """

    epochs: Annotated[int, Field(ge=1, le=10_000)] = 15
    batch: Annotated[int, Field(ge=8, le=4096)] = 100
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    optimiser: OptimiserSpec = OptimiserSpec()
    augment: bool | Literal["varied"] = False
    channels_last: bool = True
    bf16: bool = False
    select: Literal["best", "last", "strangers"] = "best"
    patience: Annotated[int, Field(ge=1, le=1000)] | None = None
    decay: Literal["none", "cosine"] = "none"

    @model_validator(mode="after")
    def _waits_for_a_better_one(self) -> Self:
        if self.patience is not None and self.select == "last":
            raise ValueError("patience waits for a better epoch: it needs select: best")
        return self

    def share(self, epoch: int) -> float:
        """Return the share of the learning rate that an optimiser takes in that epoch, counted from 0."""
        if self.decay == "none":
            return 1.0
        return (1.0 + math.cos(math.pi * epoch / self.epochs)) / 2.0


class TrainingRecipe(Strict):
    """Everything that determines a trained model.

    ``behaviour`` names the registered behaviour of a provider, or `DEFENCE` with the name of a defence, and
    ``parameters`` are its own. ``versions`` are those that the installed code
    declares, unless the recipe was made elsewhere and brings its own.
    """

    data: DataSpec
    behaviour: str
    parameters: dict[str, Any] = {}
    net: NetSpec = NetSpec()
    schedule: Schedule = Schedule()
    seed: int = 0
    extractor: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The digest of the recipe of an extractor: it is the body of the model, and stays as it is. Only the
    head is trained, on the features of the training samples."""
    versions: Versions = Field(
        default_factory=lambda fields: Versions.declared(
            fields["data"].name, fields["net"].name, fields["behaviour"]
        )
    )

    @property
    def defence(self) -> str | None:
        """The name of the defence that is trained, None if it is a provider's model."""
        return self.behaviour.removeprefix(DEFENCE) if self.behaviour.startswith(DEFENCE) else None

    def identity(self) -> dict[str, Any]:
        """The content of the digest: the versions, and every field that differs from its default. So a new
        field does not rename models. A change of a default needs a new version."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def check_versions(self) -> None:
        """Raise `Conflict` if the installed code declares other versions than the recipe: it would train a
        different model."""
        here = Versions.declared(self.data.name, self.net.name, self.behaviour)
        if self.versions != here:
            raise Conflict(
                f"the model was planned with versions {self.versions.model_dump()}, and those here are "
                f"{here.model_dump()}: bring all parties to one version, and run the scenario again"
            )

    def digest(self) -> str:
        """The model's name in the artifact store: 64 hexadecimal characters."""
        return digest(self.identity())
