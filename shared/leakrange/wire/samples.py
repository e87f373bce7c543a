"""`SampleSpec`: what one sample looks like. Nothing else about samples is exchanged between parties."""

from __future__ import annotations

import math
from abc import ABC
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from leakrange.registry import Registry, unknown
from leakrange.strict import Strict

__all__ = ["Encoding", "Purpose", "SampleSpec", "encodings"]

Purpose = Literal["model", "probe", "federation"]
"""What a net is for: a provider's model or who looks at samples while an obfuscator is trained, an attacker
who learns from few samples, or an extractor that devices learn together."""

Side = Annotated[int, Field(ge=1, le=65_536)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]

MOST_VALUES = 512 * 512 * 3
"""The most numbers in one sample."""
NOISE = (0.1, 0.4, 0.2, 0.8)
"""Deviations of the noise of variants of a sample, of values as a net gets them."""


class Encoding(ABC):
    """A registered kind of samples: what their arrays mean, and in which bodies they are sent. The class
    itself is the entry: it is never instantiated.

    To add one, put a file into ``leakrange/wire/encodings`` with a subclass under
    ``@encodings.register(name)``. All code that depends on the kind of a sample asks its encoding.
    """

    summary: ClassVar[str]
    axes: ClassVar[tuple[str, ...]]
    """The meaning of each axis of a sample, one to three. The last holds channels where there are several;
    the others are sides, along which neighbours belong together."""
    layout: ClassVar[tuple[int, ...]]
    """The order in which a net takes the axes of a batch of samples: channels first."""
    side: ClassVar[str] = "numbers a side"
    """The words for the length of a side."""
    nets: ClassVar[tuple[str, ...]]
    """The registered nets of whoever names none: the first that takes a sample is taken."""
    small_nets: ClassVar[tuple[str, ...]] = ()
    """As `nets`, of attackers who learn from few samples; where there are none, `nets`."""
    federated_nets: ClassVar[tuple[str, ...]] = ("tappfl-mlp",)
    """As `nets`, of devices who learn together: without statistics of batches, which nobody can average."""
    files: ClassVar[tuple[str, ...]] = ()
    """Media types of files that hold one sample each."""
    rows: ClassVar[bool] = False
    """Whether a row of a CSV can be a sample."""
    resizable: ClassVar[bool] = False
    """Whether scenarios choose how long the sides of a data set's samples are."""

    facts: ClassVar[frozenset[Literal["columns", "rate"]]] = frozenset()
    """The optional fields that a spec may have."""
    pictured: ClassVar[bool] = False
    """Whether a sample is a picture: pages show it, and attacks that draw it are judged by how alike they
    are."""

    @classmethod
    def nets_for(cls, purpose: Purpose) -> tuple[str, ...]:
        """The nets by what they are for."""
        by_purpose = {"probe": cls.small_nets or cls.nets, "federation": cls.federated_nets}
        return by_purpose.get(purpose, cls.nets)

    @classmethod
    def mistake(cls, spec: SampleSpec) -> str | None:  # noqa: ARG003
        """Return what in a ``spec`` with the right number of axes contradicts the encoding; None if nothing
        does."""
        return None

    @classmethod
    def media(cls, spec: SampleSpec) -> tuple[str, ...]:  # noqa: ARG003
        """Return the media types among `files` that can hold a sample of ``spec``."""
        return cls.files

    @classmethod
    def read_file(cls, file: bytes | memoryview, number: int, spec: SampleSpec) -> NDArray[Any]:
        """Read the numbers of a file, the ``number``-th of its request, in the shape of ``spec``. It may come
        from anybody: raises a `leakrange.wire.errors.LeakrangeError` if it is none of `media`, or does not
        fit."""
        raise NotImplementedError

    @classmethod
    def column_names(cls, spec: SampleSpec) -> tuple[str, ...]:
        """Return the names of a sample's numbers in the first row of a CSV, if `rows` can be samples."""
        return tuple(map(str, range(spec.shape[0])))

    @classmethod
    def fitted(cls, values: NDArray[Any], spec: SampleSpec) -> NDArray[Any]:  # noqa: ARG003
        """Bring samples (N, ...) of a data set to the size of ``spec`` if they are `resizable`."""
        return values

    @classmethod
    def variant(
        cls, sample: NDArray[Any], spec: SampleSpec, number: int, draw: np.random.Generator
    ) -> NDArray[Any]:
        """Change a sample (*shape) a little, in the way of that ``number``, from 1. An attacker who asks
        about several variants of a record learns how firmly the model holds to its class.

        Unless an encoding has ways of its own, normal noise is added, of a deviation from `NOISE` in turn.
        """
        noise = draw.normal(scale=NOISE[(number - 1) % len(NOISE)], size=sample.shape)
        return spec.nearest(sample + noise * np.asarray(spec.scale))

    @classmethod
    def drawn(cls, spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """Draw a sample (*shape) of which nothing is known but its ``spec``: normal noise as a net gets it.
        Along its sides amplitudes fall with the frequency f by f^-k, where each sample has a k from 0 to 2:
        so some are rough, and some smooth as photographs are."""
        noise = draw.normal(size=spec.shape)
        if axes := range(len(spec.sides)):
            frequencies = np.meshgrid(*(np.fft.fftfreq(side) for side in spec.sides), indexing="ij")
            lengths = np.maximum(np.linalg.norm(frequencies, axis=0), 1 / max(spec.sides))[..., None]
            spectrum = np.fft.fftn(noise, axes=axes) * lengths ** -draw.uniform(0, 2)
            noise = np.fft.ifftn(spectrum, axes=axes).real
            noise = noise / noise.std()
        return spec.nearest((noise - np.asarray(spec.offset)) * np.asarray(spec.scale))


encodings: Registry[type[Encoding]] = Registry("encoding", "leakrange.wire.encodings")


def _registered(name: str) -> str:
    if name not in encodings:
        raise ValueError(f"{unknown('encoding', name, encodings)}; there are {', '.join(encodings)}")
    return name


class SampleSpec(Strict):
    """What one sample looks like, and how a net takes its values.

    What the axes of ``shape`` count is said by the ``encoding``: of a picture (height, width, channels), of a
    row of a table (columns,). A net gets ``value / scale + offset`` in float32, where ``scale``
    and ``offset`` are one number, or one for each channel, column or entry (the last axis).
    """

    encoding: Annotated[str, Field(max_length=64), AfterValidator(_registered)]
    shape: Annotated[tuple[Side, ...], Field(min_length=1, max_length=3)]
    dtype: Literal["uint8", "float32"]
    scale: Positive | tuple[Positive, ...] = 1.0
    offset: Number | tuple[Number, ...] = 0.0
    columns: tuple[Annotated[str, Field(min_length=1, max_length=128)], ...] | None = None
    """The names of a table's columns, in order."""
    rate: Positive | None = None
    """Steps of a series in a second (Hz); None where they are not evenly spaced in time."""

    @classmethod
    def picture(cls, height: int, width: int, channels: int) -> SampleSpec:
        """A picture of 8 bits a channel, which a net sees in [-1, 1]."""
        return cls(
            encoding="picture", shape=(height, width, channels), dtype="uint8", scale=127.5, offset=-1.0
        )

    @property
    def sides(self) -> tuple[int, ...]:
        """The lengths along which neighbours belong together: all axes but the last."""
        return self.shape[:-1]

    def resized(self, size: int) -> SampleSpec:
        """The same kind of sample with sides of ``size``. Raises `ValueError` if they cannot be chosen."""
        if not encodings[self.encoding].resizable:
            raise ValueError(f"a {self.encoding} has no size in pixels")
        shape = (*(size for _ in self.sides), self.shape[-1])
        return self.model_copy(update={"shape": shape})

    def nearest(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the samples nearest to numbers (B, *shape) of any type: rounded, and clipped to the range of
        ``dtype``."""
        if self.dtype == "uint8":
            values = np.clip(np.rint(values), 0, 255)
        return values.astype(self.dtype)

    @model_validator(mode="after")
    def _of_one_piece(self) -> Self:
        encoding = encodings[self.encoding]
        if len(self.shape) != len(encoding.axes):
            raise ValueError(f"the shape of a {self.encoding} has {len(encoding.axes)} axes")
        if math.prod(self.shape) > MOST_VALUES:
            raise ValueError(f"a sample has at most {MOST_VALUES} values")
        for name, values in (("scale", self.scale), ("offset", self.offset)):
            if isinstance(values, tuple) and len(values) != self.shape[-1]:
                raise ValueError(f"{name!r} is one number, or one for each of the {self.shape[-1]} last")
        for fact, value in (("columns", self.columns), ("rate", self.rate)):
            if value is not None and fact not in encoding.facts:
                raise ValueError(f"a {self.encoding} has no {fact}")
        if mistake := encoding.mistake(self):
            raise ValueError(mistake)
        return self
