"""What a classifier's file says of itself: its JSON config, which pydantic holds to what can be."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from leakrange.wire.samples import MOST_VALUES, SampleSpec

__all__ = [
    "ClassifierConfig",
    "MixtureConfig",
]

Features = Annotated[int, Field(ge=1, le=2 * MOST_VALUES)]
"""At most the values of the largest sample, twice: what a mixture of two linear nets looks at."""
Classes = Annotated[int, Field(ge=2, le=1000)]
HeadSizes = Annotated[tuple[Classes, ...], Field(min_length=2, max_length=100)]
"""How many classes each of several attributes has."""
MixtureWeight = Annotated[float, Field(gt=0.0, lt=0.5)]
ClassName = Annotated[str, Field(min_length=1, max_length=128)]


class MixtureConfig(BaseModel):
    """That the classifier mixes two of its net, the second one for so many classes with weight ``beta_s``;
    ``hard``: after rounding both. See `leakrange.nets.mixture`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: Classes
    beta_s: MixtureWeight
    hard: bool


class ClassifierConfig(BaseModel):
    """What a user needs to run a classifier, and nothing about how it was trained.

    ``input`` says what a sample looks like, and how the net takes its values
    (`leakrange.nets.classifier.to_input`); ``features`` is the length of a ``features`` release. One that
    answers for several attributes has ``heads``, how many of the ``classes`` belong to each in turn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    heads: HeadSizes | None = None
    sigmoid: Literal[True] | None = None
    """That each attribute is binary and has one logit: see `leakrange.nets.one_logit`."""
    cosine: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    """That logits are so many times cosines: see `leakrange.nets.cosine`."""

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        if self.cosine and (self.sigmoid or self.mixture or self.heads):
            raise ValueError("cosines are of one attribute, without a sigmoid or a mixture")
        if self.sigmoid and set(self.heads or (len(self.classes),)) != {2}:
            raise ValueError("attributes with a sigmoid have two classes each")
        if self.heads is not None and sum(self.heads) != len(self.classes):
            raise ValueError(f"the heads have {sum(self.heads)} classes, {len(self.classes)} are named")
        return self

    @field_validator("format", mode="before")
    @classmethod
    def _of_this_version(cls, given: object) -> object:
        if given == 1:
            raise ValueError("an older Leakrange wrote this model file; train or download the model again")
        return given
