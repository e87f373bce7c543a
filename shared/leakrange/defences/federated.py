"""Training an extractor by a federation of devices, from a recipe and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from leakrange.data.samples import Samples, names
from leakrange.data.splits import shuffled, stream
from leakrange.defences.games.game import Batch, Game, Sizes
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

__all__ = ["Devices", "Part", "arrays_of", "load_arrays"]


@dataclass(frozen=True)
class Part:
    """Samples (N, *shape) and their labels: of the private attribute (N,), and of the useful ones (N, A)."""

    samples: Tensor
    private: Tensor
    useful: Tensor

    def __len__(self) -> int:
        return len(self.samples)

    def batch(self, chosen: Tensor, others: Tensor) -> Batch:
        """Those at the places ``chosen`` (B,), with the samples at the places ``others`` (B,)."""
        return Batch(self.samples[chosen], self.private[chosen], self.useful[chosen], self.samples[others])


class Devices:
    """The devices of the federation that ``recipe`` names, as a `leakrange.federation.learner.Learner`.

    The training samples are shared out between them. Each trains the extractor with nets of its own, which
    never leave it. Raises `InvalidInput` where the recipe does not fit the data, `UnknownName` for an unknown
    defence or net, `pydantic.ValidationError` for wrong parameters.
    """

    def __init__(self, recipe: TrainingRecipe, samples: Samples, device: str = "cpu") -> None:
        self.recipe, self.samples, self.device = recipe, samples, device
        self.link = federated_defence(recipe)
        self.link.check(samples.attributes)
        given = self.link.parameters
        self.federation = given.federation
        attributes = samples.attributes
        useful = tuple(len(attributes[name].classes) for name in names(given.useful))
        chosen = self._known("train")
        parts = partition(
            self.federation,
            {name: own[chosen] for name, own in samples.labels.items()},
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
                    samples.spec, built.feature_count, len(attributes[given.private].classes), useful
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
        """See `leakrange.federation.learner.Learner.initial`."""
        return self._initial

    def train(self, shared: Arrays, state: Arrays | None, device: int, number: int) -> tuple[Update, Arrays]:
        """See `leakrange.federation.learner.Learner.train`."""
        own = self.part(self.parts[device])
        load_arrays(self.extractor, shared)
        load_arrays(self.game, self._fresh(device) if state is None else state)
        against = 0.0 if number < self.federation.pretraining else self.game.against
        draw = stream(self.recipe.seed, f"device {device} in round {number}")
        told: dict[str, float] = {}
        for _ in range(self.federation.local_epochs):
            told = self._epoch(own, against, draw)
        trained = self.link.sent(shared, arrays_of(self.extractor), draw)
        return Update(device, len(own), trained, told), arrays_of(self.game)

    def part(self, places: np.ndarray[Any, Any]) -> Part:
        """The samples at these places."""
        given = self.link.parameters
        labels = self.samples.labels
        asked = [labels[name][places] for name in names(given.useful)]
        useful = np.stack(asked, axis=1) if asked else np.empty((len(places), 0), np.int64)
        return Part(
            to_input(torch.from_numpy(self.samples.values[places]).to(self.device), self.samples.spec),
            torch.from_numpy(labels[given.private][places]).to(self.device),
            torch.from_numpy(useful).to(self.device),
        )

    def split(self, name: str) -> Part:
        """The samples of a split whose labels are known."""
        return self.part(self._known(name))

    def _known(self, split: str) -> np.ndarray[Any, Any]:
        given = self.link.parameters
        return self.samples.known(split, (given.private, *names(given.useful)))

    def _fresh(self, device: int) -> Arrays:
        """The nets of a device in its first round."""
        with seeded(int(digest([self.recipe.seed, "game", device])[:12], 16)):
            return arrays_of(self.link.game(self.sizes))

    def _epoch(self, own: Part, against: float, draw: np.random.Generator) -> dict[str, float]:
        """One pass through a device's samples; the mean losses of the adversary and of what keeps the
        features useful."""
        self.extractor.train()
        self.game.train()
        order, others = (torch.from_numpy(shuffled(draw, len(own))).to(self.device) for _ in range(2))
        size = self.recipe.schedule.batch
        batches = zip(torch.split(order, size), torch.split(others, size), strict=True)
        inferring = keeping = 0.0
        for chosen, apart in batches:
            found = self._step(own.batch(chosen, apart), against)
            inferring += found[0] * len(chosen)
            keeping += found[1] * len(chosen)
        return {"adversary_loss": inferring / len(own), "loss": keeping / len(own)}

    def _step(self, batch: Batch, against: float) -> tuple[float, float]:
        """Every net moves by the gradient of its own loss; the extractor by that of
        ``against * revealing + (1 - against) * keeping`` (TAPPFL, Algorithm 1). One pass through each net."""
        features = self.extractor(batch.samples)
        seen = features.detach().requires_grad_()
        inferring = self.game.inferring(seen, batch)
        keeping = self.game.keeping(seen, batch)
        revealing = self.game.revealing(seen, batch, inferring)
        own = list(self.game.parameters())
        moves = torch.autograd.grad(inferring + keeping, own, retain_graph=True, allow_unused=True)
        total = against * revealing + (1.0 - against) * keeping
        (pull,) = torch.autograd.grad(total, seen)
        shared = list(self.extractor.parameters())
        moves += torch.autograd.grad(features, shared, pull)
        with torch.no_grad():
            pairs = [(p, g) for p, g in zip([*own, *shared], moves, strict=True) if g is not None]
            torch._foreach_add_([p for p, _ in pairs], [g for _, g in pairs], alpha=-self.recipe.schedule.lr)
        return float(inferring.detach()), float(keeping.detach())


def arrays_of(module: nn.Module) -> dict[str, np.ndarray[Any, Any]]:
    """A copy of all parameters and buffers by name."""
    return {name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()}


def load_arrays(module: nn.Module, arrays: Arrays) -> None:
    """Put what `arrays_of` gave into a module."""
    module.load_state_dict({name: torch.from_numpy(np.asarray(value)) for name, value in arrays.items()})
