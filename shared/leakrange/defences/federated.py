"""Training of an extractor by a federation of devices, from a recipe and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, vmap
from torch.func import functional_call

from leakrange.data.samples import Samples, names
from leakrange.data.splits import shuffled, stream
from leakrange.defences.games import Batch, Game, Sizes
from leakrange.defences.registered import federated_defence
from leakrange.defences.trained import DefenceConfig
from leakrange.federation.partition import partition
from leakrange.federation.updates import Arrays, Update
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.providers.loop import seeded
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

__all__ = ["FederatedDevices", "Part", "arrays_of", "load_arrays"]

STACKED = 4_000_000
"""Largest number of parameters of devices that are trained side by side; a single device may exceed it."""


@dataclass(frozen=True)
class Part:
    """Samples (N, *shape) and their labels: of the private attribute (N,), and of the useful ones (N, A)."""

    samples: Tensor
    private: Tensor
    useful: Tensor

    def __len__(self) -> int:
        return len(self.samples)

    def batch(self, chosen: Tensor, others: Tensor) -> Batch:
        """The samples at the indices ``chosen`` (B,), with the samples at the indices ``others`` (B,)."""
        return Batch(self.samples[chosen], self.private[chosen], self.useful[chosen], self.samples[others])


@dataclass(frozen=True)
class Stacked:
    """Parameters of devices' nets by name, each with an axis in front for the devices."""

    extractor: dict[str, Tensor]
    game: dict[str, Tensor]

    def part(self, places: slice) -> Stacked:
        """Views of the parameters of some devices, which take gradients of their own."""
        return Stacked(
            *(
                {name: value.detach()[places] for name, value in each.items()}
                for each in (self.extractor, self.game)
            )
        )

    @staticmethod
    def of(stacked: Mapping[str, Tensor], place: int) -> dict[str, np.ndarray[Any, Any]]:
        """A copy of the parameters of one device."""
        return {name: value[place].detach().cpu().numpy().copy() for name, value in stacked.items()}


class FederatedDevices:
    """The devices of the federation that ``recipe`` names, as a `leakrange.federation.learner.DeviceLearner`.

    The training samples are shared out between them. Each trains the extractor with nets of its own, which
    never leave it. Raises `InvalidInput` where the recipe does not fit the data, `UnknownName` for an unknown
    defence or net, `pydantic.ValidationError` for wrong parameters.
    """

    def __init__(self, recipe: TrainingRecipe, samples: Samples, device: str = "cpu") -> None:
        self.recipe, self.samples, self.device = recipe, samples, device
        self.link = federated_defence(recipe)
        self.link.check(samples.attributes)
        parameters = self.link.parameters
        self.federation = parameters.federation
        attributes = samples.attributes
        useful = tuple(len(attributes[name].classes) for name in names(parameters.useful))
        chosen = self._known("train")
        parts = partition(
            self.federation,
            {name: labels[chosen] for name, labels in samples.labels.items()},
            len(chosen),
            recipe.seed,
        )
        self.parts = [chosen[part] for part in parts]
        fewest = min(map(len, self.parts))
        if self.federation.split == "iid" and fewest < 2:
            raise InvalidInput(f"a device would have {fewest} samples: plan fewer devices")
        try:
            with seeded(recipe.seed):
                built = nets[recipe.net.name].build(samples.spec, 2, recipe.net.width)
                self.sizes = Sizes(
                    samples.spec, built.feature_count, len(attributes[parameters.private].classes), useful
                )
                self.extractor: nn.Module = built.body.to(device)
                if next(self.extractor.buffers(), None) is not None:
                    raise ValueError(
                        f"net {recipe.net.name!r} keeps statistics of batches, which devices cannot average"
                    )
                self._initial = arrays_of(self.extractor)
                self.game: Game = self.link.game(self.sizes).to(device)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        self.config = DefenceConfig(
            defence=self.link.name,
            parameters=recipe.parameters,
            net=recipe.net,
            input=samples.spec,
            size={"features": self.sizes.features},
        )

    def initial(self) -> Arrays:
        """See `leakrange.federation.learner.DeviceLearner.initial`."""
        return self._initial

    def train(
        self,
        shared: Arrays,
        states: Mapping[int, Arrays | None],
        number: int,
        after: Callable[[float], None] | None = None,
    ) -> dict[int, tuple[Update, Arrays]]:
        """See `leakrange.federation.learner.DeviceLearner.train`. Devices are trained side by side, as many
        at a time as keep their parameters below `STACKED`. Each takes the steps that it would take alone."""
        modules = (self.extractor, self.game)
        size = sum(value.numel() for module in modules for value in module.parameters())
        # A step is for devices that have batches of one size: those with more samples stand before others.
        order = sorted(states, key=lambda device: (-len(self.parts[device]), device))
        trained: dict[int, tuple[Update, Arrays]] = {}
        at_once = max(1, STACKED // size)
        for begin in range(0, len(order), at_once):
            devices = {device: states[device] for device in order[begin : begin + at_once]}
            trained.update(self._side_by_side(shared, devices, number))
            if after:
                after(len(trained) / len(order))
        return trained

    def _side_by_side(
        self, shared: Arrays, states: Mapping[int, Arrays | None], number: int
    ) -> dict[int, tuple[Update, Arrays]]:
        """Train devices side by side, as `train` does; they come in descending order of their samples."""
        nets = Stacked(
            self._stacked([shared] * len(states)),
            self._stacked([self._fresh(each) if state is None else state for each, state in states.items()]),
        )
        parts = [self.part(self.parts[device]) for device in states]
        draws = [stream(self.recipe.seed, f"device {device} in round {number}") for device in states]
        against = 0.0 if number < self.federation.pretraining else self.game.against
        for _ in range(self.federation.local_epochs):
            losses = self._epoch(nets, parts, against, draws)
        trained: dict[int, tuple[Update, Arrays]] = {}
        for place, device in enumerate(states):
            sent = self.link.sent(shared, nets.of(nets.extractor, place), draws[place])
            means = {"adversary_loss": float(losses[place, 0]), "loss": float(losses[place, 1])}
            trained[device] = Update(device, len(parts[place]), sent, means), nets.of(nets.game, place)
        return trained

    def part(self, indices: np.ndarray[Any, Any]) -> Part:
        """The samples at these indices."""
        parameters = self.link.parameters
        labels = self.samples.labels
        columns = [labels[name][indices] for name in names(parameters.useful)]
        useful = np.stack(columns, axis=1) if columns else np.empty((len(indices), 0), np.int64)
        return Part(
            to_input(torch.from_numpy(self.samples.values[indices]).to(self.device), self.samples.spec),
            torch.from_numpy(labels[parameters.private][indices]).to(self.device),
            torch.from_numpy(useful).to(self.device),
        )

    def split(self, name: str) -> Part:
        """The samples of a split whose labels are known."""
        return self.part(self._known(name))

    def _known(self, split: str) -> np.ndarray[Any, Any]:
        parameters = self.link.parameters
        return self.samples.known(split, (parameters.private, *names(parameters.useful)))

    def _fresh(self, device: int) -> Arrays:
        """The nets of a device in its first round."""
        with seeded(int(digest([self.recipe.seed, "game", device])[:12], 16)):
            return arrays_of(self.link.game(self.sizes))

    def _stacked(self, arrays: Sequence[Arrays]) -> dict[str, Tensor]:
        return {
            name: torch.from_numpy(np.stack([each[name] for each in arrays])).to(self.device)
            for name in arrays[0]
        }

    def _epoch(
        self, nets: Stacked, parts: Sequence[Part], against: float, draws: Sequence[np.random.Generator]
    ) -> Tensor:
        """Run one pass of each device through its samples, in batches. Returns the mean losses (D, 2) of the
        adversaries and of the part that keeps the features useful."""
        self.extractor.train()
        self.game.train()
        size = self.recipe.schedule.batch
        drawn = [
            part.batch(*(torch.from_numpy(shuffled(draw, len(part))).to(self.device) for _ in range(2)))
            for part, draw in zip(parts, draws, strict=True)
        ]
        counts = torch.tensor([len(part) for part in parts])
        losses = torch.zeros(len(parts), 2)
        for begin in range(0, int(counts.max()), size):
            batches = (counts - begin).clamp(0, size).tolist()
            for length, group in groupby(range(len(parts)), key=batches.__getitem__):
                if not length:
                    continue
                places = list(group)
                columns = zip(*(drawn[place].columns(begin, begin + length) for place in places), strict=True)
                batch = Batch(*map(torch.stack, columns))
                batch_losses = self._step(nets.part(slice(places[0], places[-1] + 1)), batch, against)
                losses[places[0] : places[-1] + 1] += length * batch_losses.cpu()
        return losses / counts[:, None]

    def _step(self, nets: Stacked, batch: Batch, against: float) -> Tensor:
        """Move every net by the gradient of its own loss; the extractor by that of ``against * revealing + (1
        - against) * keeping`` (TAPPFL, Algorithm 1), with one pass through each net. All tensors have one
        more axis in front, of the devices. Returns the losses (D, 2) before the step."""
        for value in (*nets.extractor.values(), *nets.game.values()):
            value.requires_grad_()
        features = vmap(partial(functional_call, self.extractor))(nets.extractor, batch.samples)
        detached = features.detach().requires_grad_()
        # FederatedDevices share nothing, so the gradient of the sum is each one's own.
        inferring, keeping, revealing = vmap(self._losses)(nets.game, detached, *batch.columns())
        kept, shared = list(nets.game.values()), list(nets.extractor.values())
        (pull,) = torch.autograd.grad(revealing.sum(), detached, retain_graph=True)
        pull = against * pull
        moves = []
        for loss, weight in ((inferring, 0.0), (keeping, 1.0 - against)):
            *of_kept, towards = torch.autograd.grad(loss.sum(), [*kept, detached], allow_unused=True)
            moves += [(value, move) for value, move in zip(kept, of_kept, strict=True) if move is not None]
            pull = pull + weight * towards
        moves += zip(shared, torch.autograd.grad(features, shared, pull), strict=True)
        with torch.no_grad():
            values, gradients = zip(*moves, strict=True)
            torch._foreach_add_(values, gradients, alpha=-self.recipe.schedule.lr)
        return torch.stack([inferring, keeping], dim=1).detach()

    def _losses(self, game: dict[str, Tensor], features: Tensor, *batch: Tensor) -> tuple[Tensor, ...]:
        """Losses of one device's batch (`Game.forward`)."""
        losses: tuple[Tensor, ...] = functional_call(self.game, game, (features, Batch(*batch)))
        return losses


def arrays_of(module: nn.Module) -> dict[str, np.ndarray[Any, Any]]:
    """A copy of all parameters and buffers by name."""
    return {name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()}


def load_arrays(module: nn.Module, arrays: Arrays) -> None:
    """Load the arrays of `arrays_of` into a module."""
    module.load_state_dict({name: torch.from_numpy(np.asarray(value)) for name, value in arrays.items()})
