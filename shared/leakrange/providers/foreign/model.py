"""A model file that is open: it computes releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard, FileRelease, StoredCard
from leakrange.providers.foreign.format import FileNet
from leakrange.providers.foreign.prepared import prepared
from leakrange.wire.errors import InvalidArtifact

__all__ = ["FileModel", "numbers"]


@dataclass(frozen=True)
class FileModel:
    """A checked file with its card, ready to compute."""

    card: StoredCard
    net: FileNet

    @property
    def releases(self) -> tuple[FileRelease, ...]:
        """What it can give: what the card names, and with logits their softmax too."""
        return ("logits", "softmax") if self.card.release == "logits" else (self.card.release,)

    def outputs(self, samples: NDArray[Any], kind: str) -> NDArray[np.float32]:
        """The releases (B, N) of samples (B, *shape). A sample for which the file gives no numbers, or raises
        an error, has NaN; it takes none of the others' with it."""
        try:
            values = self._rows(samples)
        except Exception:  # the code of others
            if len(samples) == 1:
                return np.full((1, self.card.width), np.nan, np.float32)
            return np.concatenate([self.outputs(sample[None], kind) for sample in samples])
        if kind == self.card.release:
            return values
        exponentials = np.exp(values - values.max(axis=1, keepdims=True))
        soft: NDArray[np.float32] = exponentials / exponentials.sum(axis=1, keepdims=True)
        return soft

    def _rows(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        values = numbers(self.net, samples, self.card)
        if values.shape[1] != self.card.width:
            raise InvalidArtifact(f"the file gives {values.shape[1]} numbers, not {self.card.width}")
        return values


def numbers(net: FileNet, samples: NDArray[Any], card: FileCard) -> NDArray[np.float32]:
    """What a file gives for samples (B, *shape), one row (B, N) for each. Raises `InvalidArtifact` where its
    first axis is not that of the samples, and whatever the file raises."""
    values = np.asarray(net(prepared(samples, card)))
    if values.ndim < 1 or len(values) != len(samples) or values.size == 0:
        raise InvalidArtifact(
            f"for {len(samples)} samples the file gives numbers of shape {values.shape}",
            hint="it must take a batch of samples, and give one row for each of them",
        )
    return values.reshape(len(values), -1).astype(np.float32, copy=False)
