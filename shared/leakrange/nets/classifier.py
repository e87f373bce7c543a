"""The form of every classifier: a body that gives a feature vector, and a head that gives logits."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from leakrange.nets.heads import Heads
from leakrange.wire.samples import SampleSpec, encodings

__all__ = ["Classifier", "to_input"]


def to_input(samples: Tensor, spec: SampleSpec) -> Tensor:
    """The nets' input contract: samples (B, *spec.shape) to float32, scaled as ``spec`` says, in the layout
    of their encoding: channels first.

    So pictures become (B, C, H, W), series (B, C, T); rows and vectors stay (B, N). The result is a view of
    memory with the channels last: this project's convolutions run fastest on it.
    """
    values = samples.to(torch.float32, copy=True)
    values.div_(_along(spec.scale, values)).add_(_along(spec.offset, values))
    return values.permute(encodings[spec.encoding].layout)


def _along(numbers: float | tuple[float, ...], values: Tensor) -> float | Tensor:
    """One number, or one for each entry of the last axis."""
    return torch.tensor(numbers, device=values.device) if isinstance(numbers, tuple) else numbers


class Classifier(nn.Module):
    """A ``body`` that maps a batch from `to_input` to features (B, features), and a ``head`` that maps those
    to logits (B, classes)."""

    def __init__(
        self, body: nn.Module, head: nn.Module, *, spec: SampleSpec, features: int, classes: int
    ) -> None:
        super().__init__()
        self.body = body
        self.head = head
        self.spec = spec
        self.feature_count = features
        self.classes = classes
        self.heads: Heads = (classes,)
        """How the outputs are parted where the classifier answers for several attributes."""

    def features(self, x: Tensor) -> Tensor:
        """The vector (B, features) that the last linear layer sees."""
        return cast(Tensor, self.body(x))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes)."""
        return cast(Tensor, self.head(self.body(x)))

    def parameter_count(self) -> int:
        """Number of parameters, frozen ones too."""
        return sum(p.numel() for p in self.parameters())
