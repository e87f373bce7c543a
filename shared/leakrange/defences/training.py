"""Training of a defence from a recipe and samples, by the loop of all trainings."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from leakrange.data.samples import Samples, names
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.extractor_training import train_extractor
from leakrange.defences.input.trained import Task, TrainedInputDefence
from leakrange.defences.registered import is_federated, trained_defence
from leakrange.defences.trained import DefenceConfig
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.providers.loop import Lessons, Progress, Trainer, seeded, through_epochs
from leakrange.wire.errors import InvalidInput

__all__ = ["DefenceTraining", "train_defence"]


class DefenceTraining:
    """The training of the defence that ``recipe`` names, on one device, an epoch at a time.

    It learns on the training samples whose labels are known. Make it, and call it, within
    `leakrange.providers.loop.seeded`. Raises `InvalidInput` where the recipe does not fit the data,
    `UnknownName` for an unknown defence or net, `pydantic.ValidationError` for wrong parameters.
    """

    def __init__(self, recipe: TrainingRecipe, samples: Samples, device: str = "cpu") -> None:
        self.started = time.perf_counter()
        self.recipe = recipe
        self.samples = samples
        self.link = _link(recipe)
        self.link.check(samples.attributes)
        self.private = names(self.link.parameters.private)
        self.useful = names(self.link.parameters.useful)
        lessons = self._part("train", device)
        schedule = recipe.schedule
        if len(lessons) < schedule.batch:
            raise InvalidInput(
                f"data set {samples.name!r} has {len(lessons)} labelled training samples; needed is at least "
                f"one batch of {schedule.batch}"
            )
        config = DefenceConfig(
            defence=self.link.name, parameters=recipe.parameters, net=recipe.net, input=samples.spec
        )
        task = Task(
            config,
            {name: len(samples.attributes[name].classes) for name in self.private},
            {name: len(samples.attributes[name].classes) for name in self.useful},
            lessons,
            schedule,
            recipe.seed,
        )
        try:
            self.trainee = self.link.study(task)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        self.trainer = Trainer.of(self.trainee, lessons, samples.spec, schedule, recipe.seed)
        self.history: list[dict[str, float]] = []

    def _part(self, split: str, device: str) -> Lessons:
        chosen = self.samples.known(split, (*self.private, *self.useful))

        def of(attributes: tuple[str, ...]) -> torch.Tensor:
            columns = [self.samples.labels[name][chosen] for name in attributes]
            stacked = np.stack(columns, axis=1) if columns else np.empty((len(chosen), 0), np.int64)
            return torch.from_numpy(stacked).to(device)

        values = torch.from_numpy(self.samples.values[chosen]).to(device)
        return Lessons(values, of(self.useful), of(self.private))

    def epoch(self, after: Callable[[float], None] | None = None) -> dict[str, float]:
        """Learn through one epoch and return its entry of the history. ``after`` is called after each step
        with the share of the epoch that is done."""
        began = time.perf_counter()
        for optimiser in self.trainee.optimisers():
            optimiser.lr = optimiser.initial * self.recipe.schedule.share(len(self.history))
        loss = self.trainer.epoch(after=after)
        entry = {"epoch": len(self.history) + 1.0, "loss": loss, **self.trainee.entry(loss)}
        entry["seconds"] = time.perf_counter() - began
        self.history.append(entry)
        return entry

    def result(self) -> TrainedDefence:
        """The obfuscator as it is now, with its figures; nothing can be trained any further."""
        module = self.trainee.module.to("cpu")
        module.eval().requires_grad_(False)
        parts = {split: self._part(split, "cpu") for split in ("train", "validation", "test")}
        outcome = self.trainee.outcome({split: part for split, part in parts.items() if len(part)})
        return TrainedDefence(
            recipe=self.recipe,
            config=self.trainee.config,
            module=module,
            history=self.history,
            figures=outcome.figures,
            record=outcome.record,
            chosen_epoch=len(self.history),
            seconds=time.perf_counter() - self.started,
        )


def train_defence(
    recipe: TrainingRecipe,
    samples: Samples,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedDefence:
    """Train the defence that ``recipe`` names, on the training samples of ``samples``: an extractor by a
    federation of devices, see `leakrange.defences.extractor_training`, anything else here.

    The last epoch is kept: the papers name no other rule, and a loss on validation samples would not tell how
    an attacker fares who learns anew. The same recipe gives the same defence on the same machine and number
    of threads. ``progress`` is called as by `leakrange.providers.training.train`. Raises as `DefenceTraining`
    does.
    """
    if is_federated(recipe):
        return train_extractor(recipe, samples, device=device, progress=progress)
    with seeded(recipe.seed, device):
        training = DefenceTraining(recipe, samples, device)
        through_epochs(recipe.schedule.epochs, training.epoch, progress)
    return training.result()


def _link(recipe: TrainingRecipe) -> TrainedInputDefence[Any]:
    if recipe.defence is None:
        raise InvalidInput(
            f"the recipe is of a provider's behaviour, {recipe.behaviour!r}, and of no defence"
        )
    entry = trained_defence(recipe.defence)
    if not issubclass(entry, TrainedInputDefence):
        raise InvalidInput(f"the defence {recipe.defence!r} changes no samples")
    link: TrainedInputDefence[Any] = entry.of(recipe)
    return link
