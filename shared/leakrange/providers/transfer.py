"""Transfer learning: a student that recognises people whom its teacher has never seen (FACELEAKS Section
3.3)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from leakrange.nets.adam import Adam
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs
from leakrange.wire.errors import InvalidInput

__all__ = ["EPOCHS", "fine_tune"]

EPOCHS = 10
BATCH = 16
LR = 1e-2


def fine_tune(
    teacher: Classifier,
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    classes: int,
    *,
    epochs: int = EPOCHS,
    seed: int = 0,
) -> Classifier:
    """A classifier of ``classes`` people on the teacher's body, in eval mode on the CPU.

    images: uint8 (N, H, W, C) of the teacher's shape, labels: (N,), 0 .. classes − 1. The body is the
    teacher's own, weights and batch-norm statistics as they are; only the new head, one linear layer, learns.
    So each image passes the body once, whatever the number of epochs. Raises `InvalidInput` where images and
    labels do not fit.
    """
    if len(images) != len(labels) or len(labels) == 0:
        raise InvalidInput(f"{len(images)} images and {len(labels)} labels cannot be learned from")
    if labels.min() < 0 or labels.max() >= classes:
        raise InvalidInput(f"labels must lie in 0..{classes - 1}")
    features = torch.from_numpy(outputs(teacher.eval(), images, "features"))
    # the head sees standardised features, and takes the scale into its weights when it has learned
    mean, deviation = features.mean(dim=0), features.std(dim=0).clamp_min(1e-6)
    scaled, truth = (features - mean) / deviation, torch.from_numpy(labels.astype(np.int64))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = nn.Linear(teacher.feature_count, classes)
        optimiser = Adam(head.parameters(), lr=LR)
        for _ in range(epochs):
            for chosen in torch.split(torch.randperm(len(truth)), BATCH):
                optimiser.zero_grad()
                loss = cross_entropy(head(scaled[chosen]), truth[chosen])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
    with torch.no_grad():
        head.weight.div_(deviation)
        head.bias.sub_(head.weight @ mean)
    student = Classifier(
        teacher.body, head, shape=teacher.shape, features=teacher.feature_count, classes=classes
    )
    return student.eval().requires_grad_(False)
