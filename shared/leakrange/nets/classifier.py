"""What every architecture builds: a body that gives a feature vector, and a head that gives logits."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

__all__ = ["Classifier", "to_input"]


def to_input(images: Tensor) -> Tensor:
    """The nets' input contract: uint8 (B, H, W, C), 0..255, to float32 (B, C, H, W) in [-1, 1].

    The result is a view of channels-last memory, which is what the convolutions of this project run fastest
    on.
    """
    return images.permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)


class Classifier(nn.Module):
    """``body``: (B, C, H, W) in [-1, 1] to (B, features); ``head``: (B, features) to logits (B, classes)."""

    def __init__(
        self, body: nn.Module, head: nn.Module, *, shape: tuple[int, int, int], features: int, classes: int
    ) -> None:
        super().__init__()
        self.body = body
        self.head = head
        self.shape = shape
        self.feature_count = features
        self.classes = classes

    def features(self, x: Tensor) -> Tensor:
        """The vector (B, features) that the last linear layer sees."""
        return cast(Tensor, self.body(x))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes)."""
        return cast(Tensor, self.head(self.body(x)))

    def parameter_count(self) -> int:
        """Number of trainable parameters."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)
