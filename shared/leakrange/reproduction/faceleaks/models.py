"""The teacher of one seed and its students, made once and kept as artifacts that a provider can serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakrange.data.samples import Samples
from leakrange.metrics import pair_distances, unit_length
from leakrange.metrics.verification import Verification, verification
from leakrange.nets.classifier import Classifier
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.providers.student import student_recipe
from leakrange.providers.training import train
from leakrange.providers.transfer import Enrolled, made_student
from leakrange.reproduction.faceleaks.settings import Settings
from leakrange.reproduction.faceleaks.world import Pairs, enrolment

__all__ = ["Student", "Teacher", "student", "teacher", "teacher_verification"]

Tell = Callable[[float], None]


@dataclass(frozen=True)
class Teacher:
    """``digest`` of its artifact; ``accuracy`` among its members on images that it has not learned."""

    digest: str
    classifier: Classifier
    accuracy: float
    loss: float
    seconds: float


@dataclass(frozen=True)
class Student:
    """A recognition student: ``digest`` of its artifact, ``accuracy`` on other images of its people."""

    digest: str
    accuracy: float
    images: int


def teacher(people: Samples, settings: Settings, seed: int, models: Path, tell: Tell) -> Teacher:
    """The teacher's artifact in the folder ``models``; trained where it is not there yet."""
    recipe = settings.recipe(seed)
    folder = artifact.find(models, recipe.digest())
    if folder is None:
        folder = artifact.save(models, train(recipe, people, progress=lambda said: tell(said["progress"])))
    loaded = artifact.load(folder)
    record = loaded.record
    return Teacher(
        recipe.digest(),
        loaded.classifier,
        record["figures"]["validation"]["honesty"],
        record["history"][-1]["loss"],
        record["seconds"],
    )


def teacher_verification(people: Samples, found: Teacher, pairs: Pairs, *, normalised: bool) -> Verification:
    """Accuracy and threshold on pairs of people whom the teacher does not know, by Euclidean distance."""
    wanted, place = np.unique(pairs.images, return_inverse=True)
    vectors = outputs(found.classifier, people.values[wanted], "features")
    if normalised:
        vectors = unit_length(vectors)
    first, second = vectors[place.reshape(pairs.images.shape)].swapaxes(0, 1)
    return verification(pair_distances(first, second, "euclidean"), pairs.same, pairs.fold)


def student(
    people: Samples, found: Teacher, settings: Settings, classes: int, seed: int, models: Path
) -> Student:
    """A student of so many people in the folder ``models``, fine-tuned where it is not there yet."""
    who = enrolment(people, settings, classes, seed)
    recipe = student_recipe(settings.recipe(seed), classes=classes, images=settings.enrolled)
    folder = artifact.find(models, recipe.digest())
    if folder is None:
        learned = Enrolled(people.values[who.learned], who.learned_class)
        held = Enrolled(people.values[who.held], who.held_class)
        names = people.attributes["student"].classes[:classes]
        folder = artifact.save(models, made_student(recipe, found.classifier, learned, held, names))
    figures = artifact.load(folder).record["figures"]["test"]
    return Student(recipe.digest(), figures["honesty"], len(who.learned))
