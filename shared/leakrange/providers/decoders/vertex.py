"""Both attributes of a mixture of two classifiers (HBC Section 3.2)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from leakrange.providers.decoder import Decoder, DecoderConfig, Inferred, as_kind, checked
from leakrange.providers.decoders import decoders
from leakrange.providers.model_config import Classes, MixtureWeight

__all__ = ["VertexConfig", "VertexDecoder"]


class VertexConfig(DecoderConfig):
    """The vertices of a mixture: Y outputs, S classes, and the weight β^s."""

    format: Literal[1] = 1
    kind: Literal["vertex"] = "vertex"
    outputs: Classes
    classes: Classes
    beta_s: MixtureWeight

    @model_validator(mode="after")
    def _room(self) -> VertexConfig:
        if self.classes > self.outputs:
            raise ValueError(f"{self.classes} classes cannot be told from {self.outputs} outputs")
        return self


@decoders.register("vertex")
class VertexDecoder(Decoder):
    """Decodes HBC Section 3.2: both attributes of a mixture, at the nearest (Euclidean) of its Y·S vertices.

    A vertex is β^y·e_y + β^s·e_s in R^Y, β^y = 1 − β^s: a hard mixture releases these. For Y = S = 2 and ŷ
    the second entry of the release the borders between the four vertices are β^s/2, 1/2 and 1 − β^s/2: the
    sub-ranges of Eq. 2 with τ' = β^s/2. Scores: minus the squared distance to the nearest vertex of each s.
    """

    Config: ClassVar[type[DecoderConfig]] = VertexConfig

    release = "softmax"

    def __init__(self, outputs: int, classes: int, beta_s: float) -> None:
        self.outputs = outputs
        self.classes = classes
        self.beta_s = beta_s

    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred:
        """See `Decoder.infer`."""
        _, inferred, scores = self._nearest(releases, kind)
        return Inferred(inferred, scores.astype(np.float32))

    def both(self, releases: NDArray[np.floating], kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The classes y and s (B,), each, of the nearest vertex; raises as `Decoder.infer` does."""
        return self._nearest(releases, kind)[:2]

    def _nearest(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The classes y, s (B,), and the scores (B, S), in memory of B·Y: with ŷ fixed, only the greatest
        entry beside s and entry s itself can be the nearest vertex's y."""
        soft = as_kind(checked(releases, self.outputs), kind, "softmax")
        rows, beta_s = np.arange(len(soft)), self.beta_s
        beta_y = 1.0 - beta_s
        first = soft.argmax(axis=1)
        remaining = soft.copy()
        remaining[rows, first] = -np.inf
        second = remaining.argmax(axis=1)
        s = np.arange(self.classes)
        other = np.where(s == first[:, None], second[:, None], first[:, None])  # best y ≠ s, (B, S)
        # |ŷ − v|² = |ŷ|² + |v|² − 2ŷ·v, where |v|² is greater by 2·β^y·β^s if y = s
        of_other = beta_y * np.take_along_axis(soft, other, axis=1)
        of_same = beta_y * (soft[:, : self.classes] - beta_s)
        gain = np.maximum(of_other, of_same) + beta_s * soft[:, : self.classes]
        scores = 2.0 * gain - (soft**2).sum(axis=1, keepdims=True) - beta_y**2 - beta_s**2
        inferred = scores.argmax(axis=1)
        y = np.where(of_same > of_other, s, other)[rows, inferred]
        return y.astype(np.int64), inferred.astype(np.int64), scores
