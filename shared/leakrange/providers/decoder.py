"""Decoders, which a curious provider keeps to itself: they read the hidden information from releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import softmax
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import nn

__all__ = ["SMALLEST", "Decoder", "DecoderConfig", "Inferred", "as_kind", "checked"]

SMALLEST = 1e-6
"""The least soft value where a decoder reads logarithms."""


class Inferred(NamedTuple):
    """Predicted classes (B,) int64, and scores (B, S) float32, higher meaning more likely. Of several hidden
    attributes classes are (B, A), and their scores lie side by side."""

    classes: NDArray[np.int64]
    scores: NDArray[np.float32]


class DecoderConfig(Strict):
    """What a decoder's file says of it, beside the weights of its net: each decoder has a config of its own,
    whose ``kind`` is the name under which the decoder is registered."""

    kind: str


class Decoder(ABC):
    """Reads hidden information from releases, whatever defence changed them."""

    Config: ClassVar[type[DecoderConfig]]
    release: str
    """The kind of release that the decoder was trained on."""

    @property
    def config(self) -> DecoderConfig:
        """Everything that `build` needs to make the decoder again: the attributes that ``Config`` names."""
        return self.Config.model_validate({name: getattr(self, name) for name in self._settings()})

    @classmethod
    def build(cls, config: Any) -> Self:
        """The decoder of a config, a ``Config``; if it has a net, with fresh weights."""
        return cls(**{name: getattr(config, name) for name in cls._settings()})

    @classmethod
    def _settings(cls) -> set[str]:
        return cls.Config.model_fields.keys() - {"format", "kind"}

    def module(self) -> nn.Module | None:
        """The net whose weights are stored beside the config, if it has one."""
        return None

    @abstractmethod
    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred | NDArray[np.float32]:
        """The information that was hidden in ``releases`` (B, ...): classes and their scores; or, where whole
        samples were hidden, the samples (B, *shape).

        Where ``kind`` is not the one it was trained on, softmax is applied to logits and the logarithm to
        soft values. Raises `InvalidInput` for another kind, another shape, or values that are not finite.
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
    values: NDArray[np.float64], kind: str, target: str, heads: tuple[int, ...] = ()
) -> NDArray[np.float64]:
    """Convert logits or soft values of ``kind`` to the ``target`` kind, separately for each of several
    ``heads``; raises `InvalidInput` for other kinds."""
    if kind not in ("logits", "softmax"):
        raise InvalidInput(f"the decoder reads logits or softmax, not {kind!r}")
    if kind == target:
        return values
    if target == "softmax":
        return softmax(values, heads)
    return cast(NDArray[np.float64], np.log(np.clip(values, SMALLEST, None)))
