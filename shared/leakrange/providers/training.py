"""Training of a model from a recipe and samples. Nets and behaviours are used through their registries."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from leakrange.data.samples import Samples, names
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.nets.heads import answers
from leakrange.nets.lipschitz import lipschitz_bound
from leakrange.providers.behaviour import share_equal
from leakrange.providers.behaviours import behaviours
from leakrange.providers.decoder import Decoder, Inferred
from leakrange.providers.inference import logits_of, outputs
from leakrange.providers.loop import EpochSelection, Lessons, Progress, seeded, through_epochs
from leakrange.providers.model_config import PrivacyLedger
from leakrange.providers.strangers import Strangers
from leakrange.wire.errors import InvalidInput

__all__ = ["TrainedModel", "Training", "train"]


@dataclass(frozen=True)
class TrainedModel:
    """The model of the kept epoch, on the CPU in eval mode, and the record of its training.

    ``history``: per epoch ``epoch``, ``loss``, ``honesty``, ``curiosity`` (validation; where the behaviour
    has it), ``strangers`` (where the schedule selects by them), ``seconds``. ``figures``: for "validation"
    and "test", and of a crowd's teacher for "train", where they have samples: ``honesty``, ``curiosity``,
    ``majority`` (shares in [0, 1]) and ``samples``; curiosity and majority only where there is a sensitive
    attribute.
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
    """For a recipe with a subset or a crowd: the places in the pool of the samples that were trained on,
    ascending."""
    ledger: PrivacyLedger | None = None
    """The promise of a private training."""
    device: str = "cpu"
    """The hardware of the training, as the record names it: see `leakrange.providers.loop.device_name`."""


class Training:
    """The training of ``recipe`` on one device, an epoch at a time.

    ``parts`` are the splits' samples whose labels are known, ``trainee`` is the behaviour at work on a fresh
    net, and ``trainer`` takes it through the training split, an epoch or a step at a time. ``selection``
    holds the weights and the decoder to keep. Initial weights and dropout draw from torch's own generator:
    make it, and call it, within `leakrange.providers.loop.seeded`.

    Raises `InvalidInput` where the recipe does not fit the data, `UnknownName` for an unknown behaviour or
    net, `pydantic.ValidationError` for wrong parameters.
    """

    def __init__(
        self,
        recipe: TrainingRecipe,
        samples: Samples,
        device: str = "cpu",
        extractor: nn.Module | None = None,
    ) -> None:
        self.started = time.perf_counter()
        self.recipe = recipe
        self.samples = samples
        self.behaviour = behaviours[recipe.behaviour]
        self.parameters = self.behaviour.Parameters.model_validate(recipe.parameters)
        self.behaviour.check(self.parameters, samples.attributes)
        self.parts = {split: self._part(split, device) for split in ("train", "validation", "test")}
        schedule, lessons = recipe.schedule, self.parts["train"]
        if len(lessons) < schedule.batch or not len(self.parts["validation"]):
            raise InvalidInput(
                f"data set {samples.name!r} has {len(lessons)} labelled training and "
                f"{len(self.parts['validation'])} validation samples; needed are at least one batch of "
                f"{schedule.batch}, and one to choose the epoch on"
            )
        hidden = self._classes(self.behaviour.sensitive(self.parameters)) or (0,)
        net = self._net(sum(hidden)).to(device)
        if extractor is not None:
            net.body.load_state_dict(extractor.state_dict())
            net.body.requires_grad_(False)
        self.trainee = self.behaviour(self.parameters, net, hidden, schedule)
        self.trainer = self.trainee.trainer(lessons, samples.spec, recipe.seed)
        self.trainee.study(lessons)
        self.strangers = Strangers(samples) if schedule.select == "strangers" else None
        self.selection: EpochSelection[_BestModel] = EpochSelection(
            "last" if schedule.select == "last" else "best"
        )
        self.history: list[dict[str, float]] = []

    def _part(self, split: str, device: str) -> Lessons:
        """The samples of one split, without those that have an unknown label."""
        labels = self.samples.labels
        target, sensitive = self.parameters.target, self.behaviour.sensitive(self.parameters)
        chosen = self.samples.known(split, (*names(target), *names(sensitive)))

        def of(attributes: tuple[str, ...]) -> Tensor | None:
            """(N,) of one attribute, (N, A) of several, None of none."""
            columns = [labels[name][chosen] for name in attributes]
            if len(columns) < 2:
                return torch.from_numpy(columns[0]).to(device) if columns else None
            return torch.from_numpy(np.stack(columns, axis=1)).to(device)

        values = torch.from_numpy(self.samples.values[chosen]).to(device)
        target_labels = of(names(target))
        assert target_labels is not None
        return Lessons(values, target_labels, of(names(sensitive)))

    def _classes(self, attributes: str | tuple[str, ...] | None) -> tuple[int, ...]:
        """The number of classes of each of these attributes."""
        return tuple(len(self.samples.attributes[name].classes) for name in names(attributes))

    def _net(self, sensitive_classes: int) -> Classifier:
        """The fresh classifier, in the memory layout of the schedule."""
        net, spec = self.recipe.net, self.samples.spec
        architecture = nets[net.name]
        heads = self._classes(self.parameters.target)
        try:
            classifier = self.behaviour.build(
                self.parameters,
                lambda outputs: architecture.build(spec, outputs, net.width),
                sum(heads),
                sensitive_classes,
            )
            classifier.heads = heads
        except ValueError as e:
            raise InvalidInput(str(e)) from e
        if self.recipe.schedule.channels_last:
            classifier.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return classifier

    def epoch(self, after: Callable[[float], None] | None = None) -> dict[str, float]:
        """Learn through one epoch, judge the model on the validation samples, and keep the epoch if the rule
        says so; gives its entry of the history. After each step ``after`` is called with the share of the
        epoch that is done."""
        began = time.perf_counter()
        for optimiser in self.trainee.optimisers():
            optimiser.lr = optimiser.initial * self.recipe.schedule.share(len(self.history))
        loss = self.trainer.epoch(after=after)
        return self.judged(loss, began)

    def judged(self, loss: float, began: float) -> dict[str, float]:
        """Judge the model after an epoch of that mean ``loss``, which ``began`` then, and keep the epoch if
        the rule says so; gives its entry of the history."""
        validation = self.parts["validation"]
        logits = logits_of(self.trainee.classifier, validation.inputs, bf16=self.recipe.schedule.bf16)
        judgement = self.trainee.judge(logits, validation)
        number = len(self.history) + 1
        entry = {"epoch": float(number), "loss": loss, "honesty": judgement.honesty}
        score = judgement.score
        if self.strangers is not None:
            score = entry["strangers"] = self.strangers.separation(self.trainee.classifier)
        self.selection.offer(number, score, self._state)
        if judgement.curiosity is not None:
            entry["curiosity"] = judgement.curiosity
        entry.update(judgement.figures)
        entry["seconds"] = time.perf_counter() - began
        self.history.append(entry)
        return entry

    def enough(self) -> bool:
        """Whether the schedule's patience is over: so many epochs without a better one. Epochs in which the
        behaviour still warms up do not count."""
        patience = self.recipe.schedule.patience
        best = max(self.selection.epoch, self.trainee.warm_epochs)
        return patience is not None and len(self.history) - best >= patience

    def _class_names(self) -> tuple[str, ...]:
        """The names of the outputs; with several attributes each name begins with its attribute's."""
        targets = [self.samples.attributes[name] for name in names(self.parameters.target)]
        if len(targets) == 1:
            return targets[0].classes
        return tuple(f"{attribute.name}: {name}" for attribute in targets for name in attribute.classes)

    def _state(self) -> _BestModel:
        return _BestModel(copy.deepcopy(self.trainee.classifier.state_dict()), self.trainee.decoder())

    def result(self, share: int = 1) -> TrainedModel:
        """The epoch that was kept, with its figures; afterwards nothing can be trained further. Where so many
        models shared the time, each has its ``share`` of the seconds."""
        best = self.selection.state
        classifier = self.trainee.classifier
        classifier.load_state_dict(best.weights)
        classifier.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        classifier.eval().requires_grad_(False)
        release = self.behaviour.release(self.parameters)
        pooled = self.recipe.data.subset or self.recipe.data.crowd
        figures = {
            split: _figures(classifier, best.decoder, self.parts[split], release)
            for split in ("train", "validation", "test")
            if split != "train" or self.recipe.data.crowd is not None
            if len(self.parts[split])
        }
        if self.recipe.extractor is not None and "test" in figures:
            figures["test"]["head_lipschitz"] = lipschitz_bound(classifier.head)
        classifier.to("cpu")
        return TrainedModel(
            recipe=self.recipe,
            classifier=classifier,
            decoder=best.decoder,
            history=self.history,
            figures=figures,
            chosen_epoch=self.selection.epoch,
            target_classes=self._class_names(),
            default_release=release,
            seconds=(time.perf_counter() - self.started) / share,
            ledger=self.trainee.ledger,
            members=tuple(np.flatnonzero(self.samples.members()).tolist()) if pooled else None,
        )


@dataclass(frozen=True)
class _BestModel:
    weights: dict[str, Tensor]
    decoder: Decoder | None


def train(
    recipe: TrainingRecipe,
    samples: Samples,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
    extractor: nn.Module | None = None,
) -> TrainedModel:
    """Train as ``recipe`` says on the splits of ``samples``: learn on train, choose the epoch on validation,
    report on test.

    The kept epoch, for F and its decoder together, is the one with the highest β^y·honesty + β^s·curiosity on
    validation (the first of equals), or the one that the schedule selects. The same recipe gives the same
    model on the same machine and number of threads. ``progress`` gets ``{progress, epoch}`` every other
    second and, after an epoch, its history entry as well. ``extractor`` is the module that the recipe names
    as such. Raises as `Training` does.
    """
    if (recipe.extractor is None) != (extractor is None):
        raise ValueError("an extractor belongs to a recipe that names one")
    with seeded(recipe.seed, device):
        training = Training(recipe, samples, device, extractor)
        through_epochs(recipe.schedule.epochs, training.epoch, progress, training.enough)
    return training.result()


def _figures(
    classifier: Classifier, decoder: Decoder | None, part: Lessons, release: str
) -> dict[str, float]:
    """Figures of the kept model on one split, computed in float32 as it will be served."""
    samples: Any = part.inputs.cpu().numpy()
    logits = outputs(classifier, samples, "logits")
    figures = {
        "samples": float(len(part)),
        "honesty": share_equal(answers(torch.from_numpy(logits), classifier.heads), part.target.cpu()),
    }
    if part.sensitive is not None and decoder is not None:
        truth = part.sensitive.cpu().numpy()
        inferred = decoder.infer(outputs(classifier, samples, release), release)
        if isinstance(inferred, Inferred):
            figures["curiosity"] = float((inferred.classes == truth).mean())
            columns = truth.reshape(len(truth), -1).T
            figures["majority"] = float(
                np.mean([np.bincount(column).max() for column in columns]) / len(truth)
            )
    return figures
