"""The open task of a model: the loss of its targets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.providers.loop import Lessons

__all__ = ["TargetTask"]


class TargetTask:
    """The loss of targets whose outputs lie side by side in ``heads``, the mean over them.

    With ``sigmoid`` all targets are binary and the loss is VICIOUS's Eq. 2: the second class of each weighs
    as much more as it is rarer among the training samples.
    """

    def __init__(self, heads: tuple[int, ...], *, sigmoid: bool = False) -> None:
        self.heads = heads
        self.sigmoid = sigmoid
        self._weights: Tensor | None = None

    def study(self, lessons: Lessons) -> None:
        """Count the classes of all training samples. Where a class has none, its target is not weighed."""
        if self.sigmoid:
            ones = lessons.target.reshape(len(lessons), -1).float().sum(dim=0)
            zeros = len(lessons) - ones
            self._weights = (zeros / ones).where((ones > 0) & (zeros > 0), ones.new_ones(()))

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of logits (B, N) and labels (B,), or (B, A) of several targets."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        from leakrange.nets.heads import mean_loss
        from leakrange.nets.last_layers import of_second
        from leakrange.providers.losses import target_loss

        if not self.sigmoid:
            return mean_loss(partial(target_loss, kind="logits"), logits, target, self.heads)
        second_logits = of_second(logits)
        labels = target.reshape(second_logits.shape).to(second_logits.dtype)
        return binary_cross_entropy_with_logits(second_logits, labels, pos_weight=self._weights)
