"""The description of a classifier in its file: a JSON config, which pydantic checks against the possible."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from leakrange.strict import Strict
from leakrange.wire.samples import MOST_VALUES, SampleSpec

__all__ = ["MOST_VOTERS", "ClassifierConfig", "MixtureConfig", "PrivacyLedger"]

MOST_VOTERS = 500
Features = Annotated[int, Field(ge=1, le=MOST_VOTERS * MOST_VALUES)]
"""At most those of as many linear nets as can vote, each of which has the values of the largest sample."""
Classes = Annotated[int, Field(ge=2, le=1000)]
HeadSizes = Annotated[tuple[Classes, ...], Field(min_length=2, max_length=100)]
"""The number of classes of each of several attributes."""
MixtureWeight = Annotated[float, Field(gt=0.0, lt=0.5)]
ClassName = Annotated[str, Field(min_length=1, max_length=128)]


class MixtureConfig(Strict):
    """That the classifier mixes two of its net, the second one for so many classes with weight ``beta_s``;
    ``hard``: after rounding both. See `leakrange.nets.mixture`."""

    classes: Classes
    beta_s: MixtureWeight
    hard: bool


class PrivacyLedger(Strict):
    """The promise of a training by DP-SGD: (``epsilon``, ``delta``)-differential privacy of each training
    sample, present or absent. ``steps`` each took every sample with probability ``rate``, clipped its
    gradient to the norm ``clip``, and added Gaussian noise of deviation ``noise`` · ``clip`` to the sum."""

    epsilon: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    delta: Annotated[float, Field(gt=0.0, lt=1.0)]
    noise: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    clip: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    rate: Annotated[float, Field(gt=0.0, le=1.0)]
    steps: Annotated[int, Field(ge=1)]


class ClassifierConfig(Strict):
    """What a user needs to run a classifier, and nothing about how it was trained.

    ``input`` gives the form of a sample and the scaling of its values (`leakrange.nets.classifier.to_input`);
    ``features`` is the length of a ``features`` release. A classifier that answers for several attributes has
    ``heads``, which split ``classes`` among them, in order.
    """

    format: Literal[2] = 2
    kind: Literal["classifier"] = "classifier"
    net: Annotated[str, Field(max_length=64)]
    width: Annotated[float, Field(gt=0.0, le=8.0)]
    input: SampleSpec
    target: Annotated[str, Field(min_length=1, max_length=4096)]
    classes: Annotated[tuple[ClassName, ...], Field(min_length=2, max_length=1000)]
    releases: tuple[Literal["logits"], Literal["softmax"], Literal["features"]] = (
        "logits",
        "softmax",
        "features",
    )
    default_release: Literal["logits", "softmax", "features", "sample"]
    features: Features
    mixture: MixtureConfig | None = None
    voters: Annotated[int, Field(ge=2, le=MOST_VOTERS)] | None = None
    """The classifier is so many of its net, each of which has one vote: see `leakrange.nets.mixture`."""
    heads: HeadSizes | None = None
    sigmoid: Literal[True] | None = None
    """Each attribute is binary and has one logit: see `leakrange.nets.last_layers`."""
    cosine: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    """Logits are so many times cosines: see `leakrange.nets.last_layers`."""
    privacy: PrivacyLedger | None = None
    """What its training promises to those it was trained on."""

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        if self.cosine and (self.sigmoid or self.mixture or self.heads):
            raise ValueError("cosines are of one attribute, without a sigmoid or a mixture")
        if self.voters and (self.sigmoid or self.mixture or self.heads or self.cosine):
            raise ValueError("voters answer for one attribute, without a sigmoid, a mixture or cosines")
        if self.sigmoid and set(self.heads or (len(self.classes),)) != {2}:
            raise ValueError("attributes with a sigmoid have two classes each")
        if self.heads is not None and sum(self.heads) != len(self.classes):
            raise ValueError(f"the heads have {sum(self.heads)} classes, {len(self.classes)} are named")
        return self

    @field_validator("format", mode="before")
    @classmethod
    def _of_this_version(cls, format: object) -> object:
        if format == 1:
            raise ValueError("an older Leakrange wrote this model file; train or download the model again")
        return format
