"""Transfer learning: a student that recognises people whom its teacher has never seen (FACELEAKS Section
3.3)."""

from __future__ import annotations

import time
from dataclasses import dataclass
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
from leakrange.providers.loop import Fitted, Lessons, Trainer, seeded
from leakrange.providers.student import EPOCHS
from leakrange.providers.training import TrainedModel
from leakrange.wire.errors import InvalidInput

__all__ = ["Enrolled", "fine_tune", "made_student", "train_student"]

BATCH = 16
LR = 1e-2


@dataclass(frozen=True)
class Enrolled:
    """Samples (N, *shape) of a student's people, and their classes (N,)."""

    samples: NDArray[Any]
    classes: NDArray[np.int64]


def train_student(recipe: TrainingRecipe, people: Samples, teacher: Classifier) -> TrainedModel:
    """The recognition student of a set with a crowd: it learns the crowd's enrolled samples, and is tried on
    those held back. Raises `InvalidInput` where the recipe's data has no crowd."""
    crowd = recipe.data.crowd
    if crowd is None:
        raise InvalidInput("a student needs people to recognise", hint="give its data a 'crowd'")

    def of(part: str) -> Enrolled:
        chosen = people.where(part)
        return Enrolled(people.values[chosen], np.arange(len(chosen)) % crowd.students)

    names = people.attributes["student"].classes[: crowd.students]
    return made_student(recipe, teacher, of("enrolled"), of("held"), names)


def made_student(
    recipe: TrainingRecipe, teacher: Classifier, enrolled: Enrolled, held: Enrolled, names: tuple[str, ...]
) -> TrainedModel:
    """The student of ``recipe``, fine-tuned on the ``enrolled`` images; its figures are those on ``held``."""
    begun = time.perf_counter()
    # copies: arrays of a data set are read-only, which torch does not take
    made = fine_tune(
        teacher, enrolled.samples.copy(), enrolled.classes, len(names), epochs=EPOCHS, seed=recipe.seed
    )
    right = outputs(made, held.samples.copy(), "logits").argmax(axis=1) == held.classes
    figures = {"test": {"honesty": float(right.mean()), "samples": float(len(right))}}
    seconds = time.perf_counter() - begun
    return TrainedModel(recipe, made, None, [], figures, EPOCHS, names, "softmax", seconds)


def fine_tune(
    teacher: Classifier,
    samples: NDArray[Any],
    labels: NDArray[np.int64],
    classes: int,
    *,
    epochs: int = EPOCHS,
    seed: int = 0,
) -> Classifier:
    """A classifier of ``classes`` people on the teacher's body, in eval mode on the CPU.

    samples: (N, *shape) as the teacher takes them, labels: (N,), 0 .. classes − 1. The body is the
    teacher's own, weights and batch-norm statistics as they are; only the new head, one linear layer, learns.
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
    schedule = Schedule(epochs=epochs, batch=BATCH, lr=LR)
    with seeded(seed):
        head = nn.Linear(teacher.feature_count, classes)
        trainer = Trainer(
            Fitted(head, cross_entropy, schedule),
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
