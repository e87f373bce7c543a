"""The way from a recipe to its artifact folder, for a provider's model as for a defence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data import load
from leakrange.data.samples import Samples, names
from leakrange.data.spans import Crafted, samples_of
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.artifact import load as load_defence
from leakrange.defences.artifact import save as save_defence
from leakrange.defences.training import train_defence
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.providers.artifact import load as load_provider
from leakrange.providers.artifact import save as save_provider
from leakrange.providers.inference import outputs
from leakrange.providers.loop import Progress, device_name
from leakrange.providers.stacked import pays, stackable, train_stacked
from leakrange.providers.student import STUDENT
from leakrange.providers.training import TrainedModel, train
from leakrange.providers.transfer import train_student
from leakrange.wire.errors import NotFound
from leakrange.wire.releases import ReleaseKind

__all__ = ["Find", "shown_releases", "train_stack", "train_stored"]

Find = Callable[[str], Path | None]
"""The artifact folder of a recipe's digest, or None where there is none that is whole."""


def train_stored(
    recipe: TrainingRecipe, root: Path, find: Find, *, device: str = "cpu", progress: Progress | None = None
) -> tuple[TrainedModel | TrainedDefence, Path]:
    """Train the model or defence of ``recipe`` on ``device``, and store its artifact folder below ``root``.

    The teacher or extractor that it builds on has to be trained already. Raises `NotFound` where ``find``
    finds none, `Conflict` where the installed code would train something else than was planned, and the
    errors of the training.
    """
    recipe.check_versions()
    samples = load(recipe.data)
    if recipe.defence is not None:
        defence = train_defence(recipe, samples, device=device, progress=progress)
        defence = replace(defence, device=device_name(device))
        return defence, save_defence(root, defence)
    if recipe.behaviour == STUDENT:
        teacher = load_provider(_before("teacher", str(recipe.parameters["teacher"]), find)).classifier
        model = train_student(recipe, samples, teacher)
    else:
        extractor = None
        if recipe.extractor is not None:
            extractor = load_defence(_before("extractor", recipe.extractor, find)).module
        model = train(recipe, samples, device=device, progress=progress, extractor=extractor)
    model = replace(model, device=device_name(device))
    return model, save_provider(root, model)


def train_stack(
    recipes: Sequence[TrainingRecipe],
    root: Path,
    find: Find,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> list[Path] | None:
    """Train the models of ``recipes``, which differ in seeds and draws of data alone, at the same time on
    ``device``, and store a folder below ``root`` for each that ``find`` does not find; returns these.

    Returns None, and trains nothing, where that would take as long as one after the other, or where they
    learn from different numbers of samples. Raises as `train_stored` does.
    """
    missing = [recipe for recipe in recipes if find(recipe.digest()) is None]
    if not missing:
        return []
    if len(missing) == 1 or not stackable(missing[0]):
        return None
    missing[0].check_versions()
    first = load(missing[0].data)
    if not pays(missing[0], first, device):
        return None
    samples = [first, *(_beside(first, load(recipe.data)) for recipe in missing[1:])]
    target = names(missing[0].parameters["target"])
    if len({len(each.known("train", target)) for each in samples}) != 1:
        return None  # they would not have equally many steps
    models = train_stacked(missing, samples, device=device, progress=progress)
    return [save_provider(root, replace(model, device=device_name(device))) for model in models]


def _beside(first: Samples, samples: Samples) -> Samples:
    """The samples, with equal values in memory once."""
    if not np.array_equal(first.values, samples.values):
        return samples
    return replace(samples, values=first.values)


def _before(kind: str, digest: str, find: Find) -> Path:
    folder = find(digest)
    if folder is None:
        raise NotFound(f"the {kind} {digest[:12]} is not trained", hint="train it before what stands on it")
    return folder


def shown_releases(
    folder: Path, release: ReleaseKind, span: Span, device: str = "cpu", crafted: Crafted | None = None
) -> NDArray[np.float32]:
    """The releases (samples, N) of the model in ``folder`` for the samples of a span; ``crafted`` reads those
    that were crafted."""
    classifier = load_provider(folder).classifier.to(device)
    return outputs(classifier, samples_of(span, crafted), release)
