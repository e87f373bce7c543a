"""A binary attribute in the entropy of soft outputs (HBC Eq. 4)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.providers.decoder import Decoder, DecoderConfig, Inferred, as_kind, checked
from leakrange.providers.decoders import decoders

__all__ = ["ThresholdConfig", "ThresholdDecoder"]


class ThresholdConfig(DecoderConfig):
    """A threshold on the entropy (nats) of soft outputs of length ``outputs``."""

    format: Literal[1] = 1
    kind: Literal["threshold"] = "threshold"
    tau: Annotated[float, Field(allow_inf_nan=False)]
    outputs: Annotated[int, Field(ge=1, le=4096)]


@decoders.register("threshold")
class ThresholdDecoder(Decoder):
    """Decodes HBC Eq. 4: s = 0 where the entropy of the soft output is at most τ (nats), else 1. Scores:
    ±(entropy − τ).

    Soft outputs that a defence moved off the simplex are first cut at 0 and scaled back to a sum of 1; a row
    without any positive value counts as uniform.
    """

    Config: ClassVar[type[DecoderConfig]] = ThresholdConfig

    release = "softmax"
    classes = 2

    def __init__(self, tau: float, outputs: int) -> None:
        self.tau = tau
        self.outputs = outputs

    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred:
        """See `Decoder.infer`."""
        soft = as_kind(checked(releases, self.outputs), kind, "softmax")
        soft = np.clip(soft, 0.0, None)
        total = soft.sum(axis=1, keepdims=True)
        soft = np.where(total > 0, soft / np.where(total > 0, total, 1.0), 1.0 / self.outputs)
        excess = -(soft * np.log(soft + 1e-16)).sum(axis=1) - self.tau
        scores = np.stack([-excess, excess], axis=1).astype(np.float32)
        return Inferred((excess > 0).astype(np.int64), scores)
