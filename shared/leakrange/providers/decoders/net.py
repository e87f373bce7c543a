"""The attack net G of the parameterized attack (HBC Section 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from leakrange.providers.decoder import SMALLEST, Decoder, DecoderConfig, Inferred, as_kind, checked
from leakrange.providers.decoders import decoders
from leakrange.providers.model_config import HeadSizes

if TYPE_CHECKING:
    from torch import nn

    from leakrange.nets.decoder import AttackNet

__all__ = ["NetDecoder", "NetDecoderConfig"]


class NetDecoderConfig(DecoderConfig):
    """An attack net G: the release that it reads (or the logarithms of a soft one), the release's length, and
    the number of classes that it infers.

    ``heads`` and ``hidden`` split the release and the classes where they are those of several attributes.
    """

    format: Literal[1] = 1
    kind: Literal["net"] = "net"
    release: Literal["logits", "softmax"]
    inputs: Annotated[int, Field(ge=1, le=4096)]
    classes: Annotated[int, Field(ge=2, le=1000)]
    logarithm: bool = False
    heads: HeadSizes | None = None
    hidden: HeadSizes | None = None

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        for heads, total in ((self.heads, self.inputs), (self.hidden, self.classes)):
            if heads is not None and sum(heads) != total:
                raise ValueError(f"heads of {', '.join(map(str, heads))} classes do not add up to {total}")
        return self

    @model_validator(mode="after")
    def _soft(self) -> NetDecoderConfig:
        if self.logarithm and self.release != "softmax":
            raise ValueError("only soft outputs have logarithms that a decoder reads")
        return self


@decoders.register("net")
class NetDecoder(Decoder):
    """The attack net G of the parameterized attack. Scores: its softmax.

    ``logarithm``: it was trained on the logarithms of soft outputs, and reads those.
    """

    Config: ClassVar[type[DecoderConfig]] = NetDecoderConfig

    def __init__(
        self,
        net: AttackNet,
        release: Literal["logits", "softmax"],
        *,
        logarithm: bool = False,
        heads: tuple[int, ...] | None = None,
        hidden: tuple[int, ...] | None = None,
    ) -> None:
        self.net = net.eval()
        self.release = release
        self.logarithm = logarithm
        self.classes = net.classes
        self.heads = heads or (net.inputs,)
        self.hidden = hidden or (net.classes,)

    @property
    def config(self) -> NetDecoderConfig:
        """See `Decoder.config`."""
        return NetDecoderConfig(
            release=self.release,
            inputs=self.net.inputs,
            classes=self.classes,
            logarithm=self.logarithm,
            heads=self.heads if len(self.heads) > 1 else None,
            hidden=self.hidden if len(self.hidden) > 1 else None,
        )

    @classmethod
    def build(cls, config: NetDecoderConfig) -> Self:
        """See `Decoder.build`."""
        from leakrange.nets.decoder import AttackNet

        return cls(
            AttackNet(config.inputs, config.classes),
            config.release,
            logarithm=config.logarithm,
            heads=config.heads,
            hidden=config.hidden,
        )

    def module(self) -> nn.Module:
        """The net G."""
        return self.net

    def infer(self, releases: NDArray[np.floating], kind: str) -> Inferred:
        """See `Decoder.infer`."""
        import torch

        from leakrange.nets.heads import answers, soft

        values = as_kind(checked(releases, self.net.inputs), kind, self.release, self.heads)
        if self.logarithm:
            values = np.log(np.maximum(values, SMALLEST))
        values = values.astype(np.float32)
        device = next(self.net.parameters()).device
        with torch.inference_mode():
            scores = soft(self.net(torch.from_numpy(values).to(device)), self.hidden).cpu()
        return Inferred(answers(scores, self.hidden).numpy(), cast(NDArray[np.float32], scores.numpy()))
