"""What a device trains beside the extractor: nets that help it, and one that it is trained against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from leakrange.wire.samples import SampleSpec

__all__ = ["Batch", "Game", "Sizes"]


@dataclass(frozen=True)
class Sizes:
    """What nets are built for: samples of ``spec``, feature vectors of so many ``features``, so many classes
    of the ``private`` attribute, and of each of the ``useful`` ones."""

    spec: SampleSpec
    features: int
    private: int
    useful: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """``samples`` as nets take them (B, ...), of each the class of the ``private`` attribute (B,) and of the
    ``useful`` ones (B, A); ``others`` (B, ...) are independent samples of the same device."""

    samples: Tensor
    private: Tensor
    useful: Tensor
    others: Tensor

    def columns(self, begin: int = 0, end: int | None = None) -> tuple[Tensor, ...]:
        """All four, of the samples from ``begin`` up to ``end``."""
        return tuple(each[begin:end] for each in (self.samples, self.private, self.useful, self.others))


class Game(nn.Module, ABC):
    """The nets that one device keeps to itself.

    The ``adversary`` infers the private attribute from features (B, N): the extractor is trained against it,
    with weight ``against``. What ``keeps`` the features useful is trained with the extractor, with weight
    ``1 - against``. In a pretraining the weight is 0.
    """

    def __init__(self, adversary: nn.Module, against: float) -> None:
        super().__init__()
        self.adversary = adversary
        self.against = against

    def inferring(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of the adversary: the cross-entropy of its inference, in nats."""
        return cross_entropy(self.adversary(features), batch.private)

    def revealing(self, features: Tensor, batch: Batch, inferring: Tensor) -> Tensor:  # noqa: ARG002
        """What the extractor makes as small as it can, so that the private attribute stays hidden: the
        adversary's loss with the other sign."""
        return -inferring

    def forward(self, features: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """The losses of a batch: of the adversary, of what keeps the features useful, and what the
        extractor makes small so that the attribute stays hidden. `torch.vmap` goes over it: no loss may
        depend on values by branches or by shapes."""
        inferring = self.inferring(features, batch)
        revealing = self.revealing(features, batch, inferring)
        return inferring, self.keeping(features, batch), revealing

    @abstractmethod
    def keeping(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of what keeps the features useful: the extractor makes it small as well."""
