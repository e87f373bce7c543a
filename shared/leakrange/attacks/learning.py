"""What attackers share who learn from releases: the check of what they are given, the scale on which they see
it, the folds of records that are held out, and the choice of the epoch by these."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = [
    "FOLDS",
    "EarlyStopping",
    "check_releases",
    "dealt",
    "flat",
    "scale_of",
    "standardised",
]

FOLDS = 5

CLIP = 10.0
"""Standardised inputs are cut at this many deviations, so that victims far from all auxiliary records decide
nothing by their size."""


def check_releases(auxiliary: NDArray[np.floating], observed: NDArray[np.floating], fewest: int) -> None:
    """Raise `InvalidInput` where ``auxiliary`` (A, ...) and ``observed`` releases (V, ...) are of different
    forms or not finite, or there are not the ``fewest`` auxiliary ones that an attack can learn from."""
    if auxiliary.ndim < 2 or auxiliary.shape[1:] != observed.shape[1:]:
        raise InvalidInput(
            f"auxiliary releases {auxiliary.shape} and observed ones {observed.shape} do not match"
        )
    if len(auxiliary) < fewest:
        raise InvalidInput(f"{len(auxiliary)} auxiliary records; the attack needs at least {fewest}")
    if not (np.isfinite(auxiliary).all() and np.isfinite(observed).all()):
        raise InvalidInput("a release holds values that are not finite")


def flat(releases: NDArray[np.float32]) -> NDArray[np.float32]:
    """Releases (B, ...) as rows (B, N)."""
    return releases.reshape(len(releases), -1)


def scale_of(rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the deviation (N,) of each value; a value that never changed has an infinite deviation, as
    it says nothing, whatever the victims' is.

    A small value is no constant: what changes by less than a millionth counts where the value itself is of
    that size, as in outputs that somebody has scaled.
    """
    deviation = rows.std(axis=0, dtype=np.float64)
    least = 1e-6 * np.minimum(np.abs(rows).max(axis=0, initial=0.0), 1.0)
    return rows.mean(axis=0, dtype=np.float64), np.where(deviation <= least, np.inf, deviation)


def standardised(
    rows: NDArray[np.float32], mean: NDArray[np.floating], deviation: NDArray[np.floating]
) -> NDArray[np.float32]:
    """``rows`` (V, N) in deviations from the mean, cut at `CLIP` of them."""
    return cast(NDArray[np.float32], np.clip((rows - mean) / deviation, -CLIP, CLIP).astype(np.float32))


def dealt(labels: NDArray[np.int64], group: NDArray[np.int64] | None, seed: int) -> NDArray[np.int64]:
    """The fold (A,) in which each record is held out, `FOLDS` of them or as many as there are groups.

    Records of a ``group`` are held out together, and classes are spread evenly, as far as groups allow. Where
    all records are of one group it is disregarded: there would be nothing to hold out.
    """
    rng = np.random.default_rng([seed % 2**64, int.from_bytes(b"folds", "little")])
    count = len(labels)
    of = np.arange(count) if group is None else np.unique(group, return_inverse=True)[1]
    sizes = np.bincount(of)
    if len(sizes) < 2:
        of, sizes = np.arange(count), np.ones(count, dtype=np.int64)
    folds = min(FOLDS, len(sizes))
    first = np.unique(of, return_index=True)[1]
    order = np.lexsort((rng.random(len(sizes)), labels[first], -sizes))  # the largest first, then by class
    place = np.empty(len(sizes), dtype=np.int64)
    if sizes.max() == 1:
        place[order] = np.arange(count) % folds
        return np.asarray(place[of])
    held = np.zeros(folds)
    for one in order:
        place[one] = int(held.argmin())
        held[place[one]] += sizes[one]
    return np.asarray(place[of])


class EarlyStopping:
    """Trains a ``net`` until ``patience`` epochs in a row were not better on held-out records, and takes the
    weights of the best one. ``loss`` is that on the held-out records; it is called in eval mode."""

    def __init__(self, net: nn.Module, loss: Callable[[], Tensor], patience: int) -> None:
        from leakrange.providers.loop import EpochSelection

        self.net = net
        self.loss = loss
        self.patience = patience
        self.kept: EpochSelection[dict[str, Tensor]] = EpochSelection()

    def offer(self, epoch: int = 0) -> None:
        """Keep the present weights, of the end of that epoch, if they are the best so far."""
        import torch

        self.net.eval()
        with torch.inference_mode():
            loss = float(self.loss())
        self.kept.offer(epoch, -loss, lambda: copy.deepcopy(self.net.state_dict()))

    def take_best(self) -> None:
        """Give the net the weights that are kept, in eval mode."""
        self.net.load_state_dict(self.kept.state)
        self.net.eval()

    def train(self, epochs: int, epoch: Callable[[], object]) -> None:
        """Call ``epoch`` so many times at most, and take the best weights."""
        for number in range(1, epochs + 1):
            epoch()
            self.offer(number)
            if number - self.kept.epoch >= self.patience:
                break
        self.take_best()
