"""The teacher of FACELEAKS: Inception-ResNet-v1 with an embedding of 512 values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

__all__ = ["InceptionResNetV1"]

FEATURES = 512


@nets.register("inception-resnet-v1")
class InceptionResNetV1(Architecture):
    """The net for faces of 160×160; 23.5 million parameters before the head. Training it takes a GPU.

    `leakrange.providers.published.load_published` reads its published weights.
    """

    name = "inception-resnet-v1"
    summary = "the paper's face recogniser, 160×160 pixels, an embedding of 512 values"
    paper = "FACELEAKS"
    table = "Section 3.2"
    encodings = ("picture",)
    smallest = 80

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """See `Architecture.misfit`; the reason also names the size of the paper's faces."""
        reason = super().misfit(spec)
        return reason and f"{reason} (the paper's faces have 160)"

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """See `Architecture.layers`."""
        from torch import nn

        from leakrange.nets.inception import InceptionResNetBody

        features = scaled(FEATURES, width)
        body = InceptionResNetBody(spec.shape[2], features, lambda full: scaled(full, width))
        return body, nn.Linear(features, classes), features
