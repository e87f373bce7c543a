"""Transfer learning: a student that recognises people whom its teacher has never seen (FACELEAKS Section
3.3)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import Schedule, TrainingRecipe
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs
from leakrange.providers.loop import FittedNet, Lessons, Trainer, seeded
from leakrange.providers.student import EPOCHS
from leakrange.providers.training import TrainedModel
from leakrange.wire.errors import InvalidInput

__all__ = ["fine_tune", "train_student"]

BATCH = 16
LR = 1e-2


def train_student(recipe: TrainingRecipe, people: Samples, teacher: Classifier) -> TrainedModel:
    """The recognition student of a set with a crowd: it learns the crowd's enrolled samples, and its figures
    are measured on the samples held back. Raises `InvalidInput` where the recipe's data has no crowd."""
    started = time.perf_counter()
    crowd = recipe.data.crowd
    if crowd is None:
        raise InvalidInput("a student needs people to recognise", hint="give its data a 'crowd'")

    def of(part: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Samples (N, *shape) and their classes (N,), person by person."""
        chosen = people.where(part).reshape(-1, crowd.students).T.ravel()
        return people.values[chosen], np.repeat(np.arange(crowd.students), len(chosen) // crowd.students)

    names = people.attributes["student"].classes[: crowd.students]
    student = fine_tune(teacher, *of("enrolled"), len(names), seed=recipe.seed)
    samples, classes = of("held")
    correct = outputs(student, samples, "logits").argmax(axis=1) == classes
    figures = {"test": {"honesty": float(correct.mean()), "samples": float(len(correct))}}
    seconds = time.perf_counter() - started
    return TrainedModel(recipe, student, None, [], figures, EPOCHS, names, "softmax", seconds)


def fine_tune(
    teacher: Classifier,
    samples: NDArray[Any],
    labels: NDArray[np.int64],
    classes: int,
    *,
    seed: int = 0,
) -> Classifier:
    """A classifier of ``classes`` people on the teacher's body, in eval mode on the CPU.

    ``samples``: (N, *shape) as the teacher takes them, ``labels``: (N,), 0 .. classes − 1. The body is the
    teacher's, with the same weights and batch-norm statistics; only the new head, one linear layer, learns.
    So each sample passes the body once, whatever the number of epochs. Raises `InvalidInput` where samples
    and labels do not fit.
    """
    if len(samples) != len(labels) or len(labels) == 0:
        raise InvalidInput(f"{len(samples)} samples and {len(labels)} labels cannot be learned from")
    if labels.min() < 0 or labels.max() >= classes:
        raise InvalidInput(f"labels must lie in 0..{classes - 1}")
    features = torch.from_numpy(outputs(teacher.eval(), samples, "features"))
    # the head sees standardised features, and takes the scale into its weights when it has learned
    mean, deviation = features.mean(dim=0), features.std(dim=0).clamp_min(1e-6)
    scaled, truth = (features - mean) / deviation, torch.from_numpy(labels.astype(np.int64))
    schedule = Schedule(epochs=EPOCHS, batch=BATCH, lr=LR)
    with seeded(seed):
        head = nn.Linear(teacher.feature_count, classes)
        trainer = Trainer(
            FittedNet(head, cross_entropy, schedule),
            Lessons(scaled, truth),
            batch=schedule.batch,
            remainder=True,
        )
        for _ in range(schedule.epochs):
            trainer.epoch()
    with torch.no_grad():
        head.weight.div_(deviation)
        head.bias.sub_(head.weight @ mean)
    student = Classifier(
        teacher.body, head, spec=teacher.spec, features=teacher.feature_count, classes=classes
    )
    return student.eval().requires_grad_(False)
