"""The nets that a device trains beside the extractor: some help it, and it is trained against one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from leakrange.wire.samples import SampleSpec

__all__ = ["Batch", "Game", "Sizes"]


@dataclass(frozen=True)
class Sizes:
    """Sizes that nets are built for: samples of ``spec``, feature vectors of length ``features``, and the
    numbers of classes of the ``private`` attribute and of each of the ``useful`` ones."""

    spec: SampleSpec
    features: int
    private: int
    useful: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """A batch of ``samples`` as nets take them (B, ...), with the class of the ``private`` attribute (B,) and
    of the ``useful`` ones (B, A) for each; ``others`` (B, ...) are independent samples of the same device."""

    samples: Tensor
    private: Tensor
    useful: Tensor
    others: Tensor

    def columns(self, begin: int = 0, end: int | None = None) -> tuple[Tensor, ...]:
        """All four columns, of the samples from ``begin`` up to ``end``."""
        return tuple(each[begin:end] for each in (self.samples, self.private, self.useful, self.others))


class Game(nn.Module, ABC):
    """The nets that one device keeps to itself.

    The ``adversary`` infers the private attribute from features (B, N): the extractor is trained against it,
    with weight ``against``. The loss `keeping`, which keeps the features useful, is trained with the
    extractor, with weight ``1 - against``. In a pretraining the weight ``against`` is 0.
    """

    def __init__(self, adversary: nn.Module, against: float) -> None:
        super().__init__()
        self.adversary = adversary
        self.against = against

    def inferring(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of the adversary: the cross-entropy of its inference, in nats."""
        return cross_entropy(self.adversary(features), batch.private)

    def revealing(self, features: Tensor, batch: Batch, inferring: Tensor) -> Tensor:  # noqa: ARG002
        """The loss that the extractor makes small so that the private attribute stays hidden: the adversary's
        loss with the other sign."""
        return -inferring

    def forward(self, features: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """The losses of a batch: `inferring`, `keeping` and `revealing`. `torch.vmap` goes over it: no loss
        may depend on values by branches or by shapes."""
        inferring = self.inferring(features, batch)
        revealing = self.revealing(features, batch, inferring)
        return inferring, self.keeping(features, batch), revealing

    @abstractmethod
    def keeping(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss that keeps the features useful: the extractor makes it small as well."""
