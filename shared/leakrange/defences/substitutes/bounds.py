"""Bounds of PASS: before training by the labels (Theorems 4.1 and 4.2), after it by the probabilities over
the samples of a split (Appendix B). All in nats."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leakrange.defences.substitutes.net import BATCH, Substitution
from leakrange.metrics.entropy import joint_entropy, total_correlation

__all__ = ["class_joint", "deltas", "divergences", "estimates", "examined", "loss_constant", "sample_deltas"]

Labels = Mapping[str, NDArray[np.int64]]
"""Labels (N,) by the name of their attribute."""
Values = NDArray[np.float64]


def loss_constant(useful: Labels, private: int, substitutes: int, lam: float, mu: float) -> float | None:
    """C of Theorem 4.1, such that E[L̂] + C ≥ L. None where μ is above the number of ``private`` attributes,
    since the theorem then says nothing.

    C = (M − μ)·log K − λ·Σ H(U) + λN. Eq. 10 has λ in place of λN, with which the inequality fails (the proof
    uses Fano's inequality once for each useful attribute).
    """
    if mu > private:
        return None
    entropy = sum(joint_entropy(labels) for labels in useful.values())
    return (private - mu) * math.log(substitutes) - lam * entropy + lam * len(useful)


def estimates(private: Labels, useful: Labels, samples: NDArray[Any]) -> dict[str, Any]:
    """The terms of Theorem 4.2 for N samples (N, *shape) with those labels, before anything is trained.

    ``entropy`` of each attribute, ``total_correlation`` C(U) of the useful ones, and for each private
    attribute ``useful_given`` H(U|S) and ``samples_given`` H(X|S). Samples are equal if their values are; if
    none are, H(X|S) is the log of the number of samples of a class. The information of substitutes about all
    useful attributes, added up, exceeds that about S by at most H(U|S) + C(U) (Eq. 11); that about the sample
    exceeds it by at most H(X|S) (Eq. 12).
    """
    contiguous = np.ascontiguousarray(samples)
    digests = [hashlib.blake2b(sample.data, digest_size=16).digest() for sample in contiguous]
    same = np.unique(np.array(digests, dtype="S16"), return_inverse=True)[1]
    columns = list(useful.values())
    return {
        "entropy": {name: joint_entropy(labels) for name, labels in {**private, **useful}.items()},
        "total_correlation": total_correlation(*columns),
        "private": {
            name: {
                "useful_given": joint_entropy(*columns, labels) - joint_entropy(labels),
                "samples_given": joint_entropy(same, labels) - joint_entropy(labels),
            }
            for name, labels in private.items()
        },
    }


def divergences(joint: Values) -> tuple[Values, float]:
    """γ of each substitute (K,), and I(X'; S), the mean of γ over P(X'), by ``joint`` P(S, X') (S, K).

    γ(x') = KL(P(S|X' = x') ‖ P(S)) (Eq. 20). 0 for a substitute that is never drawn.
    """
    drawn, shares = joint.sum(axis=0), joint.sum(axis=1, keepdims=True)
    given = np.divide(joint, drawn, out=np.zeros_like(joint), where=drawn > 0)
    ratio = np.divide(given, shares, out=np.ones_like(joint), where=given > 0)
    gammas = np.maximum((given * np.log(ratio)).sum(axis=0), 0.0)
    return gammas, float(gammas @ drawn)


def deltas(gammas: Values) -> Values:
    """δ = √(2γ), at most 1. Where every substitute has γ or less, the best attacker's answers about S for any
    two samples are (0, δ)-locally differentially private (Theorem B.1).

    Its proof holds for one sample too, with the mean of δ over the sample's substitutes.
    """
    return np.minimum(np.sqrt(2.0 * np.asarray(gammas, dtype=np.float64)), 1.0)


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
