"""`SampleSpec`: what one sample looks like. Parties tell each other nothing else about samples."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["Encoding", "SampleSpec"]

Encoding = Literal["picture", "table", "series", "vector"]
Side = Annotated[int, Field(ge=1, le=65_536)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]

MOST_VALUES = 512 * 512 * 3
"""The most numbers in one sample."""
RANKS = {"picture": 3, "table": 1, "series": 2, "vector": 1}


class SampleSpec(BaseModel):
    """What one sample looks like, and how a net takes its values.

    ``shape`` by ``encoding``: a picture is (height, width, channels), a row of a table (columns,), a series
    (steps, channels), a vector (entries,). A net gets ``value / scale + offset`` in float32, where ``scale``
    and ``offset`` are one number, or one for each channel, column or entry (the last axis).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoding: Encoding
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

    def resized(self, size: int) -> SampleSpec:
        """The same kind of picture with sides of ``size`` pixels. Raises `ValueError` for others."""
        if self.encoding != "picture":
            raise ValueError(f"a {self.encoding} has no size in pixels")
        return self.model_copy(update={"shape": (size, size, self.shape[2])})

    def nearest(self, values: NDArray[Any]) -> NDArray[Any]:
        """The samples that are nearest to numbers (B, *shape) of any type: rounded and cut to what ``dtype``
        holds."""
        if self.dtype == "uint8":
            values = np.clip(np.rint(values), 0, 255)
        return values.astype(self.dtype)

    @model_validator(mode="after")
    def _of_one_piece(self) -> Self:
        if len(self.shape) != RANKS[self.encoding]:
            raise ValueError(f"the shape of a {self.encoding} has {RANKS[self.encoding]} axes")
        if math.prod(self.shape) > MOST_VALUES:
            raise ValueError(f"a sample has at most {MOST_VALUES} values")
        if self.encoding == "picture" and (self.dtype != "uint8" or self.shape[2] > 3):
            raise ValueError("a picture has one to three channels of uint8")
        for name, values in (("scale", self.scale), ("offset", self.offset)):
            if isinstance(values, tuple) and len(values) != self.shape[-1]:
                raise ValueError(f"{name!r} is one number, or one for each of the {self.shape[-1]} last")
        if (self.columns is None) == (self.encoding == "table"):
            raise ValueError("a table has columns, and nothing else has")
        if self.columns is not None and (
            len(self.columns) != self.shape[0] or len(set(self.columns)) != len(self.columns)
        ):
            raise ValueError(f"a table of {self.shape[0]} columns needs as many different names")
        if self.rate is not None and self.encoding != "series":
            raise ValueError("only a series has a rate")
        return self
