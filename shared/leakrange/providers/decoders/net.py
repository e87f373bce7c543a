"""The attack net G of the parameterized attack (HBC Section 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from leakrange.providers.decoder import SMALLEST, Decoder, DecoderConfig, Inferred, as_kind, checked
from leakrange.providers.decoders import decoders

if TYPE_CHECKING:
    from torch import nn

    from leakrange.nets.decoder import AttackNet

__all__ = ["NetDecoder", "NetDecoderConfig"]


class NetDecoderConfig(DecoderConfig):
    """An attack net G: which release it reads (or the logarithms of one that is soft), of which length, and
    how many classes it tells apart."""

    format: Literal[1] = 1
    kind: Literal["net"] = "net"
    release: Literal["logits", "softmax"]
    inputs: Annotated[int, Field(ge=1, le=4096)]
    classes: Annotated[int, Field(ge=2, le=1000)]
    logarithm: bool = False

    @model_validator(mode="after")
    def _soft(self) -> NetDecoderConfig:
        if self.logarithm and self.release != "softmax":
            raise ValueError("only soft outputs have logarithms that a decoder reads")
        return self


@decoders.register("net")
class NetDecoder(Decoder):
    """The attack net G of the parameterized attack. Scores: its softmax.

    logarithm: it was trained on the logarithms of soft outputs, and reads those.
    """

    Config: ClassVar[type[DecoderConfig]] = NetDecoderConfig

    def __init__(
        self, net: AttackNet, release: Literal["logits", "softmax"], *, logarithm: bool = False
    ) -> None:
        self.net = net.eval()
        self.release = release
        self.logarithm = logarithm
        self.classes = net.classes

    @property
    def config(self) -> NetDecoderConfig:
        """See `Decoder.config`."""
        return NetDecoderConfig(
            release=self.release, inputs=self.net.inputs, classes=self.classes, logarithm=self.logarithm
        )

    @classmethod
    def build(cls, config: NetDecoderConfig) -> Self:
        """See `Decoder.build`."""
        from leakrange.nets.decoder import AttackNet

        return cls(AttackNet(config.inputs, config.classes), config.release, logarithm=config.logarithm)

    def module(self) -> nn.Module:
        """G."""
        return self.net

    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred:
        """See `Decoder.infer`."""
        values = as_kind(checked(releases, self.net.inputs), kind, self.release)
        if self.logarithm:
            values = np.log(np.maximum(values, SMALLEST))
        values = values.astype(np.float32)
        import torch

        with torch.inference_mode():
            scores = self.net(torch.from_numpy(values)).softmax(dim=1).numpy()
        return Inferred(scores.argmax(axis=1).astype(np.int64), cast(NDArray[np.float32], scores))
