"""Learners that are nets: a tuned one with a hidden layer, and those of HBC Table 13."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attribute_nets import arrays_of, fitted_nets, forward
from leakrange.attacks.panel.learners import Learner, Rows, State, capped, shares_of

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PaperNets", "Perceptron"]


class PaperNets(Learner):
    """The nets of `leakrange.attacks.attribute_nets.AttributeNets`, with its ``parameters``, by the panel's
    folds. They learn from all records."""

    name: ClassVar[str] = "the paper's nets"
    soft: ClassVar[tuple[str, ...]] = ("raw",)
    patience: ClassVar[int] = 6

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    def crossfit(
        self, rows: Rows, labels: NDArray[np.int64], classes: int, fold: NDArray[np.int64], seed: int
    ) -> list[list[State]]:
        """See `Learner.crossfit`; there is one setting."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            nets = fitted_nets(
                torch.from_numpy(rows),
                torch.from_numpy(labels),
                classes,
                self.parameters,
                torch.from_numpy(fold),
                self.patience,
            )
        stacked = arrays_of(nets)
        return [
            [
                {name: array[net : net + 1].copy() for name, array in stacked.items()}
                for net in range(int(fold.max()) + 1)
            ]
        ]

    @staticmethod
    def logits(state: State, rows: Rows) -> NDArray[np.floating]:
        """See `Learner.logits`."""
        return np.asarray(forward(state, rows)[0])


class Perceptron(Learner):
    """A net with one hidden layer; its settings are the layer's width and the decay of weights.

    All settings' and folds' nets are trained side by side, each setting up to the epoch that is best on all
    held-out records. Settings are tried on at most a million numbers, some 2,000 records of 512; where there
    are more, the best one is trained again on all.
    """

    name: ClassVar[str] = "tuned MLP"
    soft: ClassVar[tuple[str, ...]] = ("both",)
    settings: ClassVar[tuple[tuple[int, float], ...]] = ((12, 0.01), (12, 1.0), (48, 0.01), (48, 1.0))
    most: ClassVar[int] = 1_000_000

    def crossfit(
        self, rows: Rows, labels: NDArray[np.int64], classes: int, fold: NDArray[np.int64], seed: int
    ) -> list[list[State]]:
        """See `Learner.crossfit`."""
        import torch

        few = capped(np.arange(len(rows)), rows.shape[1], self.most, seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            nets = _Nets(self.settings, rows.shape[1], shares_of(labels, classes), int(fold.max()) + 1)
            losses = nets.train(rows[few], labels[few], fold[few])
            if len(few) < len(rows):
                best = self.settings[int(losses.argmin())]
                nets = _Nets((best,), rows.shape[1], shares_of(labels, classes), int(fold.max()) + 1)
                nets.train(rows, labels, fold)
        return nets.states()

    @staticmethod
    def logits(state: State, rows: Rows) -> NDArray[np.floating]:
        """See `Learner.logits`."""
        hidden = np.maximum(rows @ state["inner"] + state["inner.bias"], 0)
        scores: NDArray[np.floating] = hidden @ state["outer"] + state["outer.bias"]
        return scores


class _Nets:
    """Nets of all settings and folds side by side, as wide as the widest; narrower ones are masked."""

    rate, epochs, patience, largest = 1e-2, 16, 3, 256

    def __init__(
        self,
        settings: tuple[tuple[int, float], ...],
        inputs: int,
        shares: NDArray[np.float64],
        folds: int,
    ) -> None:
        import torch

        from leakrange.nets.optimisers import Adam

        self.folds, self.settings = folds, settings
        count, widest = len(settings) * folds, max(width for width, _ in settings)
        widths = torch.tensor([width for width, _ in settings]).repeat_interleave(folds)
        self.decays = torch.tensor([decay for _, decay in settings]).repeat_interleave(folds)[:, None, None]
        mask = (torch.arange(widest) < widths[:, None]).float()
        bound = (6 / inputs) ** 0.5
        inner = (torch.rand(count, inputs, widest) * 2 - 1) * bound * mask[:, None]
        outer = torch.randn(count, widest, len(shares)) * 0.1 * mask[:, :, None]
        start = torch.from_numpy(np.log(shares)).float().expand(count, 1, -1).clone()
        self.parameters = [inner, torch.zeros(count, 1, widest), outer, start]
        for parameter in self.parameters:
            parameter.requires_grad_()
        self.mask = mask[:, None]
        self.optimiser = Adam(self.parameters, lr=self.rate)
        self.kept = [parameter.detach().clone() for parameter in self.parameters]

    def __call__(self, rows: Tensor) -> Tensor:
        """Logits (nets, B, classes) of rows (nets, B, M)."""
        import torch

        inner, inner_bias, outer, outer_bias = self.parameters
        hidden = torch.baddbmm(inner_bias, rows, inner).relu() * self.mask
        return torch.baddbmm(outer_bias, hidden, outer)

    def train(self, rows: Rows, labels: NDArray[np.int64], fold: NDArray[np.int64]) -> NDArray[np.floating]:
        """The least held-out loss of each setting (settings,); the nets are those of that epoch."""
        import torch
        from torch.nn.functional import cross_entropy

        values, truth = torch.from_numpy(rows), torch.from_numpy(labels)
        held = torch.from_numpy(fold) == torch.arange(self.folds)[:, None]
        fewest = int((~held).sum(dim=1).min())
        lessons = torch.stack([torch.nonzero(~part).flatten()[:fewest] for part in held])
        lessons = lessons.repeat(len(self.settings), 1)
        batch = min(self.largest, max(16, fewest // 6))
        best = torch.full((len(self.settings),), float("inf"))
        since = 0
        for epoch in range(self.epochs + 1):
            if epoch:
                shuffled = lessons.gather(1, torch.rand(lessons.shape).argsort(dim=1))
                self.optimiser.lr = self.rate * (1 - (epoch - 1) / self.epochs)
                for step in torch.split(shuffled, batch, dim=1):
                    loss = cross_entropy(
                        self(values[step]).flatten(0, 1), truth[step].flatten(), reduction="sum"
                    )
                    self.optimiser.descend(loss / step.shape[1])
                    with torch.no_grad():
                        for weights in self.parameters[::2]:
                            weights.mul_(1 - self.optimiser.lr * self.decays)
            losses = self._held_out(values, truth, held)
            better = losses < best
            since = 0 if bool(better.any()) else since + 1
            if since > self.patience:
                break
            best = torch.where(better, losses, best)
            chosen = better.repeat_interleave(self.folds)[:, None, None]
            self.kept = [
                torch.where(chosen, parameter.detach(), kept)
                for parameter, kept in zip(self.parameters, self.kept, strict=True)
            ]
        result: NDArray[np.floating] = best.numpy()
        return result

    def _held_out(self, values: Tensor, truth: Tensor, held: Tensor) -> Tensor:
        """The mean loss of each setting (settings,) on held-out records, each by the nets of its fold."""
        import torch
        from torch.nn.functional import cross_entropy

        many = len(self.settings)
        most = int(held.sum(dim=1).max())
        place = held.int().argsort(dim=1, descending=True, stable=True)[:, :most]
        counts = held.gather(1, place).float().repeat(many, 1)  # shorter folds are filled up with lessons
        place = place.repeat(many, 1)
        with torch.no_grad():
            logits = self(values[place]).transpose(1, 2)
            each = cross_entropy(logits, truth[place], reduction="none") * counts
        return each.sum(dim=1).reshape(many, self.folds).sum(dim=1) / len(truth)

    def states(self) -> list[list[State]]:
        """The states that `Perceptron.logits` applies, by setting and fold."""
        names = ("inner", "inner.bias", "outer", "outer.bias")
        states: list[list[State]] = []
        for setting, (width, _) in enumerate(self.settings):
            states.append([])
            for fold in range(self.folds):
                inner, inner_bias, outer, outer_bias = (
                    each[setting * self.folds + fold].numpy() for each in self.kept
                )
                arrays = (inner[:, :width], inner_bias[0, :width], outer[:width], outer_bias[0])
                states[-1].append({name: array.copy() for name, array in zip(names, arrays, strict=True)})
        return states
