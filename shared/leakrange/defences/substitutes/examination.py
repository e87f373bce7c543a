"""The probabilities of a trained PASS over the samples of a split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leakrange.defences.substitutes.bounds import deltas
from leakrange.defences.substitutes.net import BATCH, Substitution

__all__ = ["Examined", "class_joint", "examined", "sample_deltas"]

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Examined:
    """Figures of N samples: ``general`` H(X'|X) and ``spread`` H(X') in nats, and for each attribute the
    joint distribution (C, K) of a sample's class and its substitute."""

    general: float
    spread: float
    joints: tuple[Values, ...]


def examined(module: Substitution, inputs: Tensor, labels: Tensor, classes: Sequence[int]) -> Examined:
    """Figures of samples (N, *shape) as they are stored, with ``labels`` (N, A) of A attributes, which have
    so many ``classes``."""
    joints = [torch.zeros(count, len(module.places), dtype=torch.float64) for count in classes]
    general = 0.0
    for place, p in _chances(module, inputs):
        general += float(torch.special.entr(p).sum())
        for joint, column in zip(joints, labels[place].T, strict=True):
            joint.index_add_(0, column, p.double())
    count = len(inputs)
    drawn = joints[0].sum(dim=0) / count
    return Examined(
        general / count,
        float(torch.special.entr(drawn).sum()),
        tuple((joint / count).numpy() for joint in joints),
    )


def class_joint(joint: Values, substitute_classes: NDArray[np.int64]) -> Values:
    """The joint distribution (C, C) of a sample's class and its substitute's (PASS, Fig. 5), from that of a
    sample's class and its substitute (C, K), and the classes of the substitutes (K,)."""
    classes = np.zeros((len(joint), len(joint)))
    np.add.at(classes.T, substitute_classes, joint.T)
    return classes


def sample_deltas(module: Substitution, inputs: Tensor, gammas: Values) -> Values:
    """δ of each sample and private attribute (N, M), by the ``gammas`` (M, K) of substitutes: the mean over
    the sample's substitutes (see `deltas`)."""
    substitute_deltas = torch.from_numpy(deltas(gammas)).float().T
    means = torch.cat([p @ substitute_deltas for _, p in _chances(module, inputs)])
    mean: Values = means.double().clamp_max(1.0).numpy()  # rounding can lead beyond 1
    return mean


def _chances(module: Substitution, inputs: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """P(X'|X) (B, K) of each batch of samples, with the batch's slice of the samples."""
    for start in range(0, len(inputs), BATCH):
        place = slice(start, start + BATCH)
        with torch.inference_mode():
            yield place, module.probabilities(module.embedded(inputs[place].numpy()))
