"""A net for token ids: the mean of what it learned of each word, and a linear layer on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.nets import Architecture, nets, scaled
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

VALUES = 32


@nets.register("bag-of-words")
class BagOfWords(Architecture):
    """One vector for each of 256 token ids. The order of words does not count."""

    name = "bag-of-words"
    summary = "the mean of one vector for each word"
    paper = "none"
    table = "none"
    encodings = ("tokens",)

    @classmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        import torch
        from torch import nn

        class Words(nn.EmbeddingBag):
            def forward(self, ids: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
                return super().forward(ids.long())

        values = scaled(VALUES, width)
        return Words(256, values, padding_idx=0), nn.Linear(values, classes), values
