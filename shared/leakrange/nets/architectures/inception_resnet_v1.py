"""The teacher of FACELEAKS: Inception-ResNet-v1 with an embedding of 512 values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from leakrange.nets import Architecture, nets
from leakrange.wire.samples import Encoding, SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["InceptionResNetV1"]

FEATURES = 512


@nets.register("inception-resnet-v1")
class InceptionResNetV1(Architecture):
    """For faces of 160×160; 23.5 million parameters before the head. It wants a GPU to train.

    Published weights are taken by `leakrange.providers.published.load_published`.
    """

    name: ClassVar[str] = "inception-resnet-v1"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "the paper's face recogniser, 160×160 pixels, an embedding of 512 values"
    paper: ClassVar[str] = "FACELEAKS"
    table: ClassVar[str] = "Section 3.2"
    encodings: ClassVar[tuple[Encoding, ...]] = ("picture",)
    smallest: ClassVar[int] = 80

    @staticmethod
    def build(spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net; ``width`` scales its channels. Raises `ValueError` for images under 80
        pixels a side."""
        from torch import nn

        from leakrange.nets.classifier import Classifier
        from leakrange.nets.inception import InceptionResNetBody

        if reason := InceptionResNetV1.misfit(spec):
            raise ValueError(f"{reason} (the paper's faces have 160)")
        features = max(1, round(FEATURES * width))
        body = InceptionResNetBody(spec.shape[2], features, lambda full: max(1, round(full * width)))
        return Classifier(body, nn.Linear(features, classes), spec=spec, features=features, classes=classes)
