"""One output that stands for two attributes (HBC Section 3.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.decoder import Decoder, DecoderConfig, Inferred, as_kind, checked
from leakrange.providers.decoders import decoders
from leakrange.providers.model_config import Classes

__all__ = ["ArgmaxConfig", "ArgmaxDecoder"]


class ArgmaxConfig(DecoderConfig):
    """The greatest of ``outputs`` says s."""

    format: Literal[1] = 1
    kind: Literal["argmax"] = "argmax"
    outputs: Classes


@decoders.register("argmax")
class ArgmaxDecoder(Decoder):
    """Decodes HBC Section 3.1: s is the model's answer for y, its greatest output. Scores: the soft
    output."""

    Config: ClassVar[type[DecoderConfig]] = ArgmaxConfig

    release = "softmax"

    def __init__(self, outputs: int) -> None:
        self.outputs = self.classes = outputs

    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred:
        """See `Decoder.infer`."""
        soft = as_kind(checked(releases, self.outputs), kind, "softmax").astype(np.float32)
        return Inferred(soft.argmax(axis=1).astype(np.int64), soft)
