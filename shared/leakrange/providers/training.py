"""The loop: from a recipe and images to a trained model. It knows no net and no behaviour but through their
registries."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.classifier import Classifier, to_input
from leakrange.providers.behaviour import Behaviour
from leakrange.providers.behaviours import behaviours
from leakrange.providers.decoder import Decoder
from leakrange.providers.inference import logits_of, outputs
from leakrange.wire.errors import InvalidInput

__all__ = ["TrainedModel", "train"]

Progress = Callable[[dict[str, float]], None]
REPORT_SECONDS = 2.0


@dataclass(frozen=True)
class TrainedModel:
    """The epoch that was kept, on the CPU in eval mode, and how it came about.

    history: per epoch ``epoch``, ``loss``, ``honesty``, ``curiosity`` (validation; where the behaviour has
    it), ``seconds``. figures: for "validation" and "test", as far as they have images: ``honesty``,
    ``curiosity``, ``majority`` (shares in [0, 1]) and ``samples``; curiosity and majority only where there
    is a sensitive attribute.
    """

    recipe: TrainingRecipe
    classifier: Classifier
    decoder: Decoder | None
    history: list[dict[str, float]]
    figures: dict[str, dict[str, float]]
    chosen_epoch: int
    target_classes: tuple[str, ...]
    default_release: str
    seconds: float
    members: tuple[int, ...] | None = None
    """Of a recipe with a subset or a crowd: the places in the pool of the images that were trained on,
    ascending."""


@dataclass(frozen=True)
class _Part:
    """One split on the device: samples (N, *shape), labels (N,); samples with an unknown label are
    left out."""

    samples: Tensor
    target: Tensor
    sensitive: Tensor | None

    def __len__(self) -> int:
        return len(self.samples)


def train(
    recipe: TrainingRecipe,
    images: Samples,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedModel:
    """Train as ``recipe`` says on the splits of ``images``: learn on train, choose the epoch on validation,
    report on test.

    The epoch with the highest β^y·honesty + β^s·curiosity on validation is kept (the first of equals), or the
    last one, where the schedule selects that; for F and what decodes it together. The same recipe gives the
    same model on the same machine and number of threads. ``progress`` gets ``{progress, epoch}`` every other
    second and, after an epoch, its history entry as well. Raises `InvalidInput` where the recipe does not fit
    the data, `UnknownName` for an unknown behaviour or net, `pydantic.ValidationError` for wrong parameters.
    """
    started = time.perf_counter()
    behaviour = behaviours[recipe.behaviour]
    parameters = behaviour.Parameters.model_validate(recipe.parameters)
    behaviour.check(parameters, images.attributes)
    sensitive = behaviour.sensitive(parameters)
    target = images.attributes[parameters.target]
    parts = {
        name: _part(images, name, target.name, sensitive, device) for name in ("train", "validation", "test")
    }
    batch = recipe.schedule.batch
    if len(parts["train"]) < batch or not len(parts["validation"]):
        raise InvalidInput(
            f"data set {images.name!r} has {len(parts['train'])} labelled training and "
            f"{len(parts['validation'])} validation images; needed are at least one batch of {batch}, "
            f"and one to choose the epoch on"
        )

    # dropout and initial weights draw from torch's own generator: seed a fork, and give it back as it was
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        torch.manual_seed(recipe.seed)
        architecture = nets[recipe.net.name]
        classes = len(images.attributes[sensitive].classes) if sensitive else 0
        try:
            classifier = behaviour.build(
                parameters,
                lambda outputs: architecture.build(images.spec, outputs, recipe.net.width),
                len(target.classes),
                classes,
            )
        except ValueError as e:
            raise InvalidInput(str(e)) from e
        if recipe.schedule.channels_last:
            classifier = classifier.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        classifier = classifier.to(device)
        trainee = behaviour(parameters, classifier, classes, recipe.schedule)
        history, best = _epochs(recipe, trainee, parts["train"], parts["validation"], progress)

    classifier.load_state_dict(best.weights)
    classifier = classifier.to("cpu", memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]
    classifier.requires_grad_(False)
    release = behaviour.release(parameters)
    pooled = recipe.data.subset or recipe.data.crowd
    figures = {
        name: _figures(classifier, best.decoder, parts[name], release)
        for name in ("validation", "test")
        if len(parts[name])
    }
    return TrainedModel(
        recipe=recipe,
        classifier=classifier,
        decoder=best.decoder,
        history=history,
        figures=figures,
        chosen_epoch=best.epoch,
        target_classes=target.classes,
        default_release=release,
        seconds=time.perf_counter() - started,
        members=tuple(np.flatnonzero(images.members()).tolist()) if pooled else None,
    )


@dataclass(frozen=True)
class _Best:
    epoch: int
    score: float
    weights: dict[str, Tensor]
    decoder: Decoder | None


def _epochs(
    recipe: TrainingRecipe, trainee: Behaviour, lessons: _Part, validation: _Part, progress: Progress | None
) -> tuple[list[dict[str, float]], _Best]:
    """All epochs of the schedule; gives the history and the epoch to keep."""
    schedule = recipe.schedule
    device = lessons.samples.device
    generator = torch.Generator(device=device).manual_seed(recipe.seed)
    steps = len(lessons) // schedule.batch
    history: list[dict[str, float]] = []
    best: _Best | None = None
    told = time.perf_counter()
    for epoch in range(1, schedule.epochs + 1):
        began = time.perf_counter()
        total = torch.zeros((), device=device)
        order = torch.randperm(len(lessons), generator=generator, device=device)
        for step in range(steps):
            chosen = order[step * schedule.batch : (step + 1) * schedule.batch]
            x = to_input(lessons.samples[chosen], trainee.classifier.spec)
            if not schedule.channels_last:
                x = x.contiguous()
            s = None if lessons.sensitive is None else lessons.sensitive[chosen]
            total += trainee.step(x, lessons.target[chosen], s)
            if progress and time.perf_counter() - told > REPORT_SECONDS:
                told = time.perf_counter()
                done = (epoch - 1 + (step + 1) / steps) / schedule.epochs
                progress({"progress": done, "epoch": float(epoch)})
        logits = logits_of(trainee.classifier, validation.samples, bf16=schedule.bf16)
        judgement = trainee.judge(logits, validation.target, validation.sensitive)
        if best is None or judgement.score > best.score or schedule.select == "last":
            weights = copy.deepcopy(trainee.classifier.state_dict())
            best = _Best(epoch, judgement.score, weights, trainee.decoder())
        entry = {"epoch": float(epoch), "loss": float(total) / steps, "honesty": judgement.honesty}
        if judgement.curiosity is not None:
            entry["curiosity"] = judgement.curiosity
        entry["seconds"] = time.perf_counter() - began
        history.append(entry)
        if progress:
            told = time.perf_counter()
            progress(entry | {"progress": epoch / schedule.epochs})
    assert best is not None
    return history, best


def _part(images: Samples, split: str, target: str, sensitive: str | None, device: str) -> _Part:
    chosen = images.where(split)
    known = images.labels[target][chosen] >= 0
    if sensitive:
        known &= images.labels[sensitive][chosen] >= 0
    chosen = chosen[known]
    return _Part(
        torch.from_numpy(images.values[chosen]).to(device),
        torch.from_numpy(images.labels[target][chosen]).to(device),
        torch.from_numpy(images.labels[sensitive][chosen]).to(device) if sensitive else None,
    )


def _figures(classifier: Classifier, decoder: Decoder | None, part: _Part, release: str) -> dict[str, float]:
    """What the kept model does on one split, through the functions that serve it: float32, on the CPU."""
    samples: Any = part.samples.cpu().numpy()
    logits = outputs(classifier, samples, "logits")
    figures = {
        "samples": float(len(part)),
        "honesty": float((logits.argmax(axis=1) == part.target.cpu().numpy()).mean()),
    }
    if part.sensitive is not None and decoder is not None:
        truth = part.sensitive.cpu().numpy()
        predicted, _ = decoder.infer(outputs(classifier, samples, release), release)
        figures["curiosity"] = float((predicted == truth).mean())
        figures["majority"] = float(np.bincount(truth).max() / len(truth))
    return figures
