"""The viciousness likelihood (VICIOUS Appendix I.2): the distance that a model moves when it is trained
further for its claimed task.

A model trained for that task alone is near its optimum, and its outputs hardly change. One that was trained
for something else as well is further away.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cosine_similarity, cross_entropy

from leakrange.jobs.audit import ViciousnessSettings
from leakrange.jobs.recipe import Schedule
from leakrange.nets.classifier import Classifier, to_input
from leakrange.nets.heads import mean_loss, soft
from leakrange.nets.optimisers import Optimiser, optimiser
from leakrange.wire.errors import InvalidArtifact, InvalidInput

__all__ = ["Viciousness", "viciousness"]

AT_ONCE = 500


@dataclass(frozen=True)
class Viciousness:
    """Movement of the outputs.

    v: (rounds,) float64 in [0, 1], Eq. 20 after each round. cosines: (M,) float64 in [-1, 1], the terms of
    Eq. 19 after the last one. before, after: (M, N) float32, the logits of the test samples.
    """

    v: NDArray[np.float64]
    cosines: NDArray[np.float64]
    before: NDArray[np.float32]
    after: NDArray[np.float32]


def viciousness(
    classifier: Classifier,
    samples: NDArray[Any],
    labels: NDArray[np.int64],
    test: NDArray[Any],
    settings: ViciousnessSettings,
    seed: int,
) -> Viciousness:
    """Train a copy of ``classifier`` on ``samples`` (K, *shape) with ``labels`` (K,), of several heads (K,
    heads), by cross-entropy, and compare its outputs for ``test`` (M, *shape) before and after each round.

    Cosines are of the whole vector of outputs, whatever the number of heads. A vector of zeros is like
    another one, and unlike any other. The classifier itself does not change. On one machine the result
    follows from the arguments. Raises `InvalidInput` for samples that do not fit, `InvalidArtifact` where
    outputs are not finite.
    """
    _check(classifier, samples, labels, test)
    trained = copy.deepcopy(classifier).requires_grad_(True)
    trained.train(settings.mode == "train")
    inputs, truth = torch.from_numpy(np.ascontiguousarray(samples)), torch.from_numpy(labels)
    watched = torch.from_numpy(np.ascontiguousarray(test))
    before = _logits(trained, watched)
    schedule = Schedule(lr=settings.lr, optimiser=settings.optimiser)
    stepper = optimiser(trained.parameters(), schedule)
    draw = torch.Generator().manual_seed(seed)
    v, after, cosines = np.empty(settings.rounds), before, torch.empty(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # of dropout, in mode "train"
        for number in range(settings.rounds):
            order = torch.randperm(len(inputs), generator=draw)
            _round(trained, stepper, inputs[order], truth[order], settings.batch)
            after = _logits(trained, watched)
            cosines = _cosines(before, after, settings.output, classifier)
            v[number] = (1.0 - float(cosines.mean())) / 2.0
    return Viciousness(v, cosines.numpy(), before.numpy(), after.numpy())


def _round(trained: Classifier, stepper: Optimiser, inputs: Tensor, truth: Tensor, batch: int) -> None:
    """Train one pass over the labelled samples. A last batch of a single sample joins the one before, since
    batch normalisation knows no variance of one sample."""
    for part, labels in zip(_batches(inputs, batch), _batches(truth, batch), strict=True):
        outputs = trained(to_input(part, trained.spec))
        if not outputs.requires_grad:
            raise InvalidArtifact(
                "the model cannot be trained further: it rounds its outputs, and has no gradient"
            )
        stepper.descend(mean_loss(cross_entropy, outputs, labels, trained.heads))


def _batches(values: Tensor, batch: int) -> list[Tensor]:
    parts = list(torch.split(values, batch))
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts


def _logits(trained: Classifier, samples: Tensor) -> Tensor:
    """Logits (M, N) in eval mode. The mode is restored afterwards."""
    training = trained.training
    trained.eval()
    with torch.no_grad():
        parts = [trained(to_input(part, trained.spec)).float() for part in torch.split(samples, AT_ONCE)]
    trained.train(training)
    logits = torch.cat(parts)
    if not torch.isfinite(logits).all():
        raise InvalidArtifact(
            "the model's outputs are not finite, before or after training it further: it cannot be audited"
        )
    return logits


def _cosines(before: Tensor, after: Tensor, output: str, classifier: Classifier) -> Tensor:
    """The terms of Eq. 19: float64 (M,)."""
    if output == "softmax":
        before, after = soft(before, classifier.heads), soft(after, classifier.heads)
    first, second = before.double(), after.double()
    cosines = cosine_similarity(first, second, dim=1, eps=1e-30).clamp(-1.0, 1.0)
    still = (first == 0).all(dim=1) & (second == 0).all(dim=1)
    return torch.where(still, 1.0, cosines)


def _check(
    classifier: Classifier, samples: NDArray[Any], labels: NDArray[np.int64], test: NDArray[Any]
) -> None:
    spec, heads = classifier.spec, classifier.heads
    for values, role in ((samples, "labelled"), (test, "test")):
        if values.dtype != spec.dtype or values.shape[1:] != spec.shape or not len(values):
            raise InvalidInput(
                f"the model takes samples of {spec.dtype} and shape {spec.shape}; the {role} ones are "
                f"{values.dtype} of shape {values.shape}",
                hint="audit a model with the data that it is for",
            )
    shape = (len(samples),) if len(heads) == 1 else (len(samples), len(heads))
    if labels.shape != shape:
        raise InvalidInput(f"labels of shape {labels.shape}; {len(samples)} samples need {shape}")
    if (labels < 0).any() or (labels >= np.array(heads if len(heads) > 1 else heads[0])).any():
        raise InvalidInput(f"a label is no class of the model, which has {heads}; leave unknown ones out")
