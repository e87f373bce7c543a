"""What model files say of themselves: the JSON configs, which pydantic holds to what can be."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator

from leakrange.wire.samples import MOST_VALUES, SampleSpec

__all__ = [
    "ArgmaxConfig",
    "ClassifierConfig",
    "DecoderConfig",
    "MixtureConfig",
    "NetDecoderConfig",
    "ThresholdConfig",
    "VertexConfig",
    "decoder_config",
]

Count = Annotated[int, Field(ge=1, le=4096)]
Features = Annotated[int, Field(ge=1, le=2 * MOST_VALUES)]
"""At most the values of the largest sample, twice: what a mixture of two linear nets looks at."""
Classes = Annotated[int, Field(ge=2, le=1000)]
MixtureWeight = Annotated[float, Field(gt=0.0, lt=0.5)]
ClassName = Annotated[str, Field(min_length=1, max_length=128)]


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1


class MixtureConfig(BaseModel):
    """That the classifier mixes two of its net, the second one for so many classes with weight ``beta_s``;
    ``hard``: after rounding both. See `leakrange.nets.mixture`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: Classes
    beta_s: MixtureWeight
    hard: bool


class ClassifierConfig(_Config):
    """What a user needs to run a classifier, and nothing about how it was trained.

    ``input`` says what a sample looks like, and how the net takes its values
    (`leakrange.nets.classifier.to_input`); ``features`` is the length of a ``features`` release.
    """

    format: Literal[2] = 2  # type: ignore[assignment]
    kind: Literal["classifier"] = "classifier"
    net: Annotated[str, Field(max_length=64)]
    width: Annotated[float, Field(gt=0.0, le=8.0)]
    input: SampleSpec
    target: Annotated[str, Field(min_length=1, max_length=128)]
    classes: Annotated[tuple[ClassName, ...], Field(min_length=2, max_length=1000)]
    releases: tuple[Literal["logits"], Literal["softmax"], Literal["features"]] = (
        "logits",
        "softmax",
        "features",
    )
    default_release: Literal["logits", "softmax", "features", "sample"]
    features: Features
    mixture: MixtureConfig | None = None

    @field_validator("format", mode="before")
    @classmethod
    def _of_this_version(cls, given: object) -> object:
        if given == 1:
            raise ValueError("an older Leakrange wrote this model file; train or download the model again")
        return given


class NetDecoderConfig(_Config):
    """An attack net G: which release it reads (or the logarithms of one that is soft), of which length, and
    how many classes it tells apart."""

    kind: Literal["net"] = "net"
    release: Literal["logits", "softmax"]
    inputs: Count
    classes: Annotated[int, Field(ge=2, le=1000)]
    logarithm: bool = False

    @model_validator(mode="after")
    def _soft(self) -> NetDecoderConfig:
        if self.logarithm and self.release != "softmax":
            raise ValueError("only soft outputs have logarithms that a decoder reads")
        return self


class ThresholdConfig(_Config):
    """A threshold on the entropy (nats) of soft outputs of length ``outputs``."""

    kind: Literal["threshold"] = "threshold"
    tau: Annotated[float, Field(allow_inf_nan=False)]
    outputs: Count


class VertexConfig(_Config):
    """The vertices of a mixture: Y outputs, S classes, and the weight β^s."""

    kind: Literal["vertex"] = "vertex"
    outputs: Classes
    classes: Classes
    beta_s: MixtureWeight

    @model_validator(mode="after")
    def _room(self) -> VertexConfig:
        if self.classes > self.outputs:
            raise ValueError(f"{self.classes} classes cannot be told from {self.outputs} outputs")
        return self


class ArgmaxConfig(_Config):
    """The greatest of ``outputs`` says s."""

    kind: Literal["argmax"] = "argmax"
    outputs: Classes


DecoderConfig = NetDecoderConfig | ThresholdConfig | VertexConfig | ArgmaxConfig
decoder_config: TypeAdapter[DecoderConfig] = TypeAdapter(
    Annotated[DecoderConfig, Field(discriminator="kind")]
)
