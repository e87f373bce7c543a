"""Many small models of one form, trained at the same time in one process.

Small nets leave a processor idle between their many small operations. Here every operation does its part of
all models: their parameters are stacked, and `torch.vmap` passes all batches through all models at once.
(`torch.func.grad` is not used: it loads torch's compiler, which takes as long as many a training.)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import dropout

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets.dropout import Dropout, factors
from leakrange.nets.optimisers import optimiser
from leakrange.providers.behaviours import behaviours
from leakrange.providers.loop import Progress, seeded, through_epochs
from leakrange.providers.training import TrainedModel, Training

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["pays", "stackable", "train_stacked"]

LARGEST_ON_CPU = 100_000
"""Parameters of a net from which on a processor is busy with one model: stacked, it takes as long."""
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)


def stackable(recipe: TrainingRecipe) -> bool:
    """Whether models of such a recipe can be stacked: each step of the training is the gradient of one loss
    of the outputs, on a batch of the training samples as they are, and none ends earlier than others."""
    schedule = recipe.schedule
    plain = not (schedule.augment or schedule.bf16 or schedule.patience or schedule.select == "strangers")
    return plain and recipe.extractor is None and recipe.defence is None and _one_loss(recipe)


def _one_loss(recipe: TrainingRecipe) -> bool:
    behaviour = behaviours[recipe.behaviour]
    return behaviour.stacks and not getattr(
        behaviour.Parameters.model_validate(recipe.parameters), "sigmoid", False
    )


def pays(recipe: TrainingRecipe, samples: Samples, device: str) -> bool:
    """Whether a stack of models of such a recipe is trained in less time than one after the other: on a GPU,
    and on a CPU where the net has few parameters and no convolution."""
    if device != "cpu":
        return True
    net = Training(recipe, samples).trainee.classifier
    few = sum(each.numel() for each in net.parameters()) <= LARGEST_ON_CPU
    return few and not any(isinstance(each, CONVOLUTIONS) for each in net.modules())


def train_stacked(
    recipes: Sequence[TrainingRecipe],
    samples: Sequence[Samples],
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> list[TrainedModel]:
    """Train a model of each recipe on its samples; the recipes differ in nothing but seeds and draws of data.

    Each model is the one that `leakrange.providers.training.train` gives, but for the rounding of sums and,
    on a GPU, the draws of dropout. ``progress`` is that of the whole stack. ``seconds`` of a model are its
    share of the time. Raises `ValueError` where the models' training samples differ in number, and as
    `Training` does.
    """
    trainings, draws = [], []
    for recipe, each in zip(recipes, samples, strict=True):
        with seeded(recipe.seed, device):
            trainings.append(Training(recipe, each, device))
            # Dropout draws on from where the initial weights ended.
            draws.append(torch.Generator())
            draws[-1].set_state(torch.get_rng_state())
    if len({len(training.parts["train"]) for training in trainings}) != 1:
        raise ValueError("models of a stack learn from equally many samples")
    _share_parts(trainings)
    stack = _Stack(trainings, draws)
    through_epochs(recipes[0].schedule.epochs, stack.epoch, progress)
    return [training.result(share=len(trainings)) for training in trainings]


def _share_parts(trainings: Sequence[Training]) -> None:
    """Let equal validation and test samples lie in memory once."""
    first = trainings[0].parts
    for training in trainings[1:]:
        for split in ("validation", "test"):
            if torch.equal(training.parts[split].inputs, first[split].inputs):
                training.parts[split] = first[split]


class _Stack:
    """The stacked parameters and samples of ``trainings``. Their models' parameters are views of the stack's,
    so that each training judges and keeps its own epochs. ``draws`` are the models' generators of dropout."""

    def __init__(self, trainings: Sequence[Training], draws: Sequence[torch.Generator]) -> None:
        self.trainings, self.draws = trainings, draws
        models = [training.trainee.classifier for training in trainings]
        lessons = [training.parts["train"] for training in trainings]
        self.inputs = torch.stack([each.inputs for each in lessons])
        self.target = torch.stack([each.target for each in lessons])
        self.places = torch.arange(len(models), device=self.inputs.device)[:, None]
        stacked, self.buffers = stack_module_state(list[nn.Module](models))
        self.parameters = {name: nn.Parameter(value.detach()) for name, value in stacked.items()}
        for number, model in enumerate(models):
            for name, tensor in (*model.named_parameters(), *model.named_buffers()):
                tensor.data = (self.parameters | self.buffers)[name].detach()[number]
        self.optimiser = optimiser(self.parameters.values(), trainings[0].recipe.schedule)
        self.net = copy.deepcopy(models[0]).train()
        self.dropouts = _given(self.net)
        with torch.no_grad():
            self.net(self._prepared(self.inputs[:1, : trainings[0].recipe.schedule.batch])[0])
        self.losses = vmap(self._loss)

    def _prepared(self, inputs: Tensor) -> Tensor:
        """Samples (M, B, ...) in the form that a net takes."""
        prepare = self.trainings[0].trainer.prepare
        assert prepare is not None
        prepared = prepare(inputs.flatten(0, 1))
        return prepared.view(*inputs.shape[:2], *prepared.shape[1:])

    def _loss(
        self, parameters: dict[str, Tensor], others: dict[str, Tensor], inputs: Tensor, target: Tensor
    ) -> Tensor:
        """The loss of one model."""
        logits = functional_call(self.net, (parameters, others), (inputs,))
        return self.trainings[0].trainee.loss(logits, target)

    def step(self, batch: Tensor) -> Tensor:
        """Let every model learn from its lessons at its places of ``batch`` (M, B); gives the losses (M,)."""
        inputs = self._prepared(self.inputs[self.places, batch])
        masks = {f"{name}.factors": each.masks(self.draws) for name, each in self.dropouts.items()}
        losses: Tensor = self.losses(
            dict[str, Tensor](self.parameters), self.buffers | masks, inputs, self.target[self.places, batch]
        )
        self.optimiser.descend(losses.sum())  # each model's parameters have the gradient of its own loss
        return losses.detach()

    def epoch(self, after: Callable[[float], None]) -> dict[str, float]:
        """See `Training.epoch`, for all models; the entry is the mean of theirs."""
        began, training = time.perf_counter(), self.trainings[0]
        self.optimiser.lr = self.optimiser.initial * training.recipe.schedule.share(len(training.history))
        batches = [
            torch.stack(each)
            for each in zip(*(each.trainer.batches() for each in self.trainings), strict=True)
        ]
        total = torch.zeros(len(self.trainings), device=self.inputs.device)
        for done, batch in enumerate(batches, 1):
            total += self.step(batch)
            after(done / len(batches))
        losses = (total / len(batches)).tolist()
        share = (time.perf_counter() - began) / len(self.trainings)
        entries = [
            training.judged(loss, time.perf_counter() - share)
            for training, loss in zip(self.trainings, losses, strict=True)
        ]
        return {name: sum(entry[name] for entry in entries) / len(entries) for name in entries[0]}


class _GivenDropout(nn.Module):
    """Dropout by factors that it is given: each model of a stack draws its own."""

    factors: Tensor

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.like: Tensor | None = None
        """A tensor of the form of its input, after the first pass."""
        self.register_buffer("factors", torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """The input times the factors."""
        if self.like is None:
            self.like = torch.empty_like(x)
        return x * self.factors

    def masks(self, draws: Sequence[torch.Generator]) -> Tensor:
        """Factors for one step of each model. On a CPU they are those that the model would draw by itself."""
        assert self.like is not None
        if self.like.device.type == "cpu":
            return torch.stack([factors(self.like, self.p, draw) for draw in draws])
        return dropout(self.like.new_ones(len(draws), *self.like.shape), self.p)


def _given(net: nn.Module) -> dict[str, _GivenDropout]:
    """Replace every dropout of the net; gives those that stand there now, by name."""
    replaced = {
        name: _GivenDropout(each.p)
        for name, each in net.named_modules()
        if isinstance(each, Dropout) and each.p
    }
    for name, each in replaced.items():
        net.set_submodule(name, each)
    return replaced
