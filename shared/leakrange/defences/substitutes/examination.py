"""What the probabilities of a trained PASS say over the samples of a split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leakrange.defences.substitutes.bounds import deltas
from leakrange.defences.substitutes.net import BATCH, Substitution

__all__ = ["Examined", "examined", "sample_deltas"]

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Examined:
    """Of N samples: ``general`` H(X'|X) and ``spread`` H(X') in nats, ``agreement`` (useful,) the probability
    that a substitute has the sample's own class, and for each private attribute P(S, X') (S, K)."""

    general: float
    spread: float
    agreement: Values
    joints: tuple[Values, ...]


def examined(
    module: Substitution,
    inputs: Tensor,
    *,
    private: Tensor,
    classes: Sequence[int],
    useful: Tensor,
    substitutes_useful: Tensor,
) -> Examined:
    """Of samples (N, *shape) as they are stored, with labels ``private`` (N, M) of so many ``classes`` and
    ``useful`` (N, U); the latter of the substitutes too (K, U)."""
    joints = [torch.zeros(count, len(module.places), dtype=torch.float64) for count in classes]
    agreement = torch.zeros(useful.shape[1], dtype=torch.float64)
    general = 0.0
    for place, p in _chances(module, inputs):
        general += float(torch.special.entr(p).sum())
        for joint, labels in zip(joints, private[place].T, strict=True):
            joint.index_add_(0, labels, p.double())
        fits = useful[place].unsqueeze(1) == substitutes_useful.unsqueeze(0)
        agreement += torch.einsum("bk,bku->u", p.double(), fits.double())
    count = len(inputs)
    drawn = joints[0].sum(dim=0) / count
    return Examined(
        general / count,
        float(torch.special.entr(drawn).sum()),
        (agreement / count).numpy(),
        tuple((joint / count).numpy() for joint in joints),
    )


def sample_deltas(module: Substitution, inputs: Tensor) -> Values:
    """δ of each sample and private attribute (N, M), by the ``gammas`` of ``module``: the mean over the
    sample's substitutes (see `deltas`)."""
    each = torch.from_numpy(deltas(module.gammas.double().numpy())).float().T
    found = torch.cat([p @ each for _, p in _chances(module, inputs)])
    mean: Values = found.double().clamp_max(1.0).numpy()  # rounding can lead beyond 1
    return mean


def _chances(module: Substitution, inputs: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """P(X'|X) (B, K) of each batch of samples, and where it is among them."""
    for start in range(0, len(inputs), BATCH):
        place = slice(start, start + BATCH)
        with torch.inference_mode():
            yield place, module.probabilities(module.embedded(inputs[place].numpy()))
