"""The decoder G of a vicious provider: it draws the user's input from a release (VICIOUS, Section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.providers.decoder import Decoder, DecoderConfig, as_kind, checked
from leakrange.providers.decoders import decoders
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

    from leakrange.nets.reconstructor import Reconstructor

__all__ = ["ReconstructionConfig", "ReconstructionDecoder"]

BATCH = 500


class ReconstructionConfig(DecoderConfig):
    """A reconstructor: its net, the release that it reads and that release's length, and the form of the
    samples that it draws.

    With ``sigmoid`` the release is of binary attributes, and the net reads one logit of each.
    """

    format: Literal[1] = 1
    kind: Literal["reconstruction"] = "reconstruction"
    release: Literal["logits", "softmax", "features"]
    name: Annotated[str, Field(max_length=64)]
    width: Annotated[float, Field(gt=0.0, le=8.0)]
    inputs: Annotated[int, Field(ge=1, le=65_536)]
    spec: SampleSpec
    heads: Annotated[tuple[Annotated[int, Field(ge=2, le=1000)], ...], Field(min_length=1, max_length=100)]
    sigmoid: bool = False


@decoders.register("reconstruction")
class ReconstructionDecoder(Decoder):
    """The net G that was trained with the classifier."""

    Config: ClassVar[type[DecoderConfig]] = ReconstructionConfig

    def __init__(
        self,
        net: Reconstructor,
        release: Literal["logits", "softmax", "features"],
        *,
        name: str,
        width: float,
        heads: tuple[int, ...],
        sigmoid: bool = False,
    ) -> None:
        self.net = net.eval()
        self.release = release
        self.name = name
        self.width = width
        self.heads = heads
        self.sigmoid = sigmoid
        self.inputs = net.inputs
        self.spec = net.spec

    @classmethod
    def build(cls, config: ReconstructionConfig) -> Self:
        """See `Decoder.build`. Raises `ValueError` where the net cannot draw such samples."""
        from leakrange.nets.reconstructors import reconstructors

        net = reconstructors[config.name].build(config.spec, config.inputs, config.width)
        return cls(
            net,
            config.release,
            name=config.name,
            width=config.width,
            heads=config.heads,
            sigmoid=config.sigmoid,
        )

    def module(self) -> nn.Module:
        """The net G."""
        return self.net

    def infer(self, releases: NDArray[np.floating], kind: str) -> NDArray[np.float32]:
        """The samples (B, *shape), in their own units (a picture's pixels from 0 to 255, not rounded). See
        `Decoder.infer`."""
        import torch

        from leakrange.nets.reconstructor import from_pixels

        values = torch.from_numpy(self._read(releases, kind).astype(np.float32))
        device = next(self.net.parameters()).device
        with torch.inference_mode():
            pictures = [from_pixels(self.net(part.to(device))).cpu() for part in torch.split(values, BATCH)]
            return cast(NDArray[np.float32], torch.cat(pictures).contiguous().numpy())

    def _read(self, releases: NDArray[np.floating], kind: str) -> NDArray[np.float64]:
        """The net's input (B, inputs)."""
        if self.release == "features" or kind == "features":
            if kind != self.release:
                raise InvalidInput(f"the decoder reads {self.release}, not {kind!r}")
            return checked(releases, self.inputs)
        values = as_kind(checked(releases, sum(self.heads)), kind, self.release, self.heads)
        return values[:, 1::2] - values[:, ::2] if self.sigmoid else values
