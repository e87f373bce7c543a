"""Decoders, which a curious provider keeps to itself: they read from releases what was hidden in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from leakrange.metrics import softmax
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import nn

__all__ = ["SMALLEST", "Decoder", "DecoderConfig", "Inferred", "as_kind", "checked"]

SMALLEST = 1e-6
"""Soft values are held above this where a decoder reads their logarithm."""


class Inferred(NamedTuple):
    """Predicted classes (B,) int64, and scores (B, S) float32, higher meaning more likely. Of several hidden
    attributes classes are (B, A), and their scores lie side by side."""

    classes: NDArray[np.int64]
    scores: NDArray[np.float32]


class DecoderConfig(BaseModel):
    """What a decoder's file says of it, beside the weights of its net: each decoder has a config of its own,
    whose ``kind`` is the name under which the decoder is registered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str


class Decoder(ABC):
    """Reads what was hidden from releases, whatever defence they went through."""

    Config: ClassVar[type[DecoderConfig]]
    release: str
    """The kind that it was trained on."""

    @property
    def config(self) -> DecoderConfig:
        """Everything that `build` needs to make it again: the attributes that ``Config`` names."""
        return self.Config.model_validate({name: getattr(self, name) for name in self._settings()})

    @classmethod
    def build(cls, config: Any) -> Self:
        """The decoder of a config, a ``Config``; of one with a net, with fresh weights."""
        return cls(**{name: getattr(config, name) for name in cls._settings()})

    @classmethod
    def _settings(cls) -> set[str]:
        return cls.Config.model_fields.keys() - {"format", "kind"}

    def module(self) -> nn.Module | None:
        """The net whose weights are stored beside the config, if it has one."""
        return None

    @abstractmethod
    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred | NDArray[np.float32]:
        """What was hidden behind ``releases`` (B, ...): classes and their scores; or, where whole samples
        were hidden, the samples (B, *shape).

        Where ``kind`` is not what it was trained on, logits are put through softmax, and soft values
        through a logarithm. Raises `InvalidInput` for another kind, another shape, or values that are not
        finite.
        """


def checked(releases: NDArray[np.floating], outputs: int) -> NDArray[np.float64]:
    """Releases (B, ``outputs``) in float64; raises `InvalidInput` for another shape or values that are not
    finite."""
    if releases.ndim != 2 or releases.shape[1] != outputs:
        raise InvalidInput(f"the decoder reads releases of shape (samples, {outputs}), not {releases.shape}")
    if not np.isfinite(releases).all():
        raise InvalidInput("a release holds values that are not finite")
    return releases.astype(np.float64)


def as_kind(
    values: NDArray[np.float64], kind: str, wanted: str, heads: tuple[int, ...] = ()
) -> NDArray[np.float64]:
    """Logits or soft values of ``kind`` as those of the ``wanted`` kind, each of several
    ``heads`` by itself; raises `InvalidInput` for others."""
    if kind not in ("logits", "softmax"):
        raise InvalidInput(f"the decoder reads logits or softmax, not {kind!r}")
    if kind == wanted:
        return values
    if wanted == "softmax":
        return softmax(values, heads)
    return cast(NDArray[np.float64], np.log(np.clip(values, SMALLEST, None)))
