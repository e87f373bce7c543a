"""Probing an obfuscator: a classifier that learns attributes from samples as they leave users' devices."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Inference, Knowledge
from leakrange.attacks.learning import dealt
from leakrange.attacks.panel.learners import (
    Learner,
    LogisticRegression,
    NearestMean,
    NearestNeighbours,
)
from leakrange.attacks.panel.nets import Perceptron
from leakrange.attacks.panel.panel import panel, panel_arrays, tell_apart
from leakrange.attacks.panel.trees import BoostedTrees
from leakrange.data import Names
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import NetSpec
from leakrange.jobs.versions import VersionChange
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.nets.classifier import Classifier

__all__ = ["ProbedSamples", "Probing", "ProbingParameters"]

FEWEST = 50
WEIGHT_DECAY = 1e-4
NET = "the paper’s net"
"""The name of the net among the learners of the panel."""
WIDEST = 512
"""The largest number of a sample's values that logistic regression and boosted trees read."""
TOGETHER = "together"
"""The name, beside the weights, of the array that says how draws are combined: 0 by classifying their mean, 1
by multiplying the probabilities of each."""


class ProbingParameters(Strict):
    """The attributes by their roles, the number of records and whose they are, how often the averaging
    attacker repeats a query, and the classifier's net and training.

    ``private``: by default what the provider calls sensitive. ``useful``: what the obfuscator was to keep.
    ``general``: what it was not told to keep (PASS: hidden useful attributes). The attacker may have records
    that nobody else has ("auxiliary"), those that the obfuscator was trained on ("train"), or all of a pool
    of which the protector had a part ("pool"). ``net``: by default a small one for the kind of sample.
    """

    private: Names | None = None
    useful: Names | None = None
    general: Names | None = None
    auxiliary: Annotated[int, Field(ge=FEWEST, le=1_000_000)] = 1000
    records: Literal["auxiliary", "train", "pool"] = "auxiliary"
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    net: NetChoice | None = None
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 30
    batch: Annotated[int, Field(ge=8, le=4096)] = 64
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3


@dataclass(frozen=True)
class ProbedSamples:
    """Samples (A, *shape) of ``spec`` as they leave the attacker's own device, whose attribute has the
    classes ``labels`` (A,), 0 .. classes − 1, and those ``observed`` (V, *shape) from users. ``group`` (A,):
    equal for samples that are held out together, such as windows of one recording."""

    samples: NDArray[np.float32]
    labels: NDArray[np.int64]
    observed: NDArray[np.float32]
    spec: SampleSpec
    classes: int
    group: NDArray[np.int64] | None = None
    seed: int = 0


@attacks.register("probing")
class Probing(Attack):
    """A classifier of samples that learns from obfuscated samples of records whose attributes are known
    (PASS, Section 3.2).

    It is the net of the epoch that did best on a fifth of the records, which it does not learn from, nor from
    any that resemble these. Of
    several draws of a sample one net learns from the mean, which serves against noise, and another from each
    in turn, whose answers are multiplied, since the mean of several substitutes is nobody's sample. The one
    that does better on the held-out fifth is kept.

    A net that slides over a sample misses what one number of it tells. Beside it a panel of learners reads
    samples as rows of numbers (the mean of several draws): logistic regression, the nearest class mean,
    boosted trees, nearest neighbours and a tuned MLP, as of `attribute-inference`. Samples may have thousands
    of numbers. There logistic regression and trees read the 512 in which classes differ most, chosen anew by
    the records of each fold that is learned from; projections and averages would hide one number among
    thousands. The others read all. The nets of `attribute-nets` are not among them: they are made for the
    outputs of models, and take as long as all others together.
    """

    name: ClassVar[str] = "probing"
    version: ClassVar[int] = 5
    changes: ClassVar[Mapping[int, VersionChange]] = {
        5: VersionChange(
            "it finds what numbers tell that vary by less than a millionth, and chooses by AUC whether to "
            "learn from the mean of several draws"
        )
    }
    summary: ClassVar[str] = "classifiers that learn attributes from obfuscated samples"
    paper: ClassVar[str] = "PASS"
    equation: ClassVar[str] = "Section 3.2, Eqs. 13 and 14"
    consumes: ClassVar[tuple[str, ...]] = ("sample",)
    grants: ClassVar[tuple[str, ...]] = ("queries", "auxiliary records with the attributes")
    kind: ClassVar[str] = "probing"
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[BaseModel]] = ProbingParameters
    arrays: ClassVar[type[Any] | None] = ProbedSamples

    @classmethod
    def arrays_filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With as many ``classes`` as there are labels, where their number is not given."""
        labels = given.get("labels")
        return given if labels is None else {"classes": int(labels.max(initial=0)) + 1, **given}

    def on_arrays(self, evidence: Any) -> Any:
        """The inference about what was observed, by what `fit` learns."""
        known = evidence.samples, evidence.labels, evidence.classes, evidence.spec
        state = self.fit([known[0]], *known[1:], evidence.seed, evidence.group)
        return self.infer(state, [evidence.observed], evidence.classes, evidence.spec)

    def net(self, spec: SampleSpec) -> NetSpec:
        """The net for samples of ``spec``."""
        chosen: NetChoice = self.parameters.net or NetChoice()
        return chosen.of(spec, "probe")

    def training(self) -> dict[str, Any]:
        """The parameters that decide what `fit` learns from the same lessons."""
        decisive: dict[str, Any] = self.parameters.model_dump(
            mode="json", include={"net", "epochs", "batch", "lr"}
        )
        return decisive

    def fit(
        self,
        draws: Sequence[NDArray[np.float32]],
        labels: NDArray[np.int64],
        classes: int,
        spec: SampleSpec,
        seed: int,
        group: NDArray[np.int64] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """The state of a fitted classifier, arrays by name.

        draws: one or more draws (A, *shape) of the attacker's own samples, whose classes are ``labels`` (A,).
        Those of one ``group`` (A,), such as windows of one recording, are held out together. Raises
        `InvalidInput` for samples that it cannot learn from.
        """
        import torch
        from torch.nn.functional import nll_loss

        from leakrange.providers.loop import seeded

        _check(draws, labels, classes, spec)
        held_out = torch.from_numpy(_held_out(dealt(labels, group, seed), labels))
        held, learning = torch.nonzero(held_out).flatten(), torch.nonzero(~held_out).flatten()
        with seeded(seed):
            mean = _mean(draws)
            ways: list[Sequence[NDArray[np.float32]]] = [[mean]] if len(draws) == 1 else [[mean], draws]
            learned = [self._learned(way, labels, classes, spec, learning, held) for way in ways]
        truth = torch.from_numpy(labels)[held]

        def right(which: int) -> tuple[float, float]:
            """Rank a way by its AUC, since its accuracy is the commonest class's share where the others are
            rare; of two equals, the one that is surer of the truth is better."""
            logs = _joint_log_probabilities(learned[which], [draw[held] for draw in ways[which]])
            at_once = np.zeros(len(truth), dtype=np.int64)
            area = tell_apart(logs.numpy().astype(np.float64), truth.numpy(), at_once)
            return round(area, 9), -float(nll_loss(logs, truth))

        best = max(range(len(ways)), key=right)
        state = {name: value.numpy() for name, value in learned[best].state_dict().items()}
        return state | {TOGETHER: np.array(best)}

    def _learned(
        self,
        draws: Sequence[NDArray[np.float32]],
        labels: NDArray[np.int64],
        classes: int,
        spec: SampleSpec,
        learning: Tensor,
        held: Tensor,
    ) -> Classifier:
        """The net of the best epoch; each epoch learns from another of the draws."""
        import torch
        from torch.nn.functional import cross_entropy, nll_loss

        from leakrange.jobs.recipe import OptimiserSpec, Schedule
        from leakrange.nets.classifier import to_input
        from leakrange.nets.optimisers import optimiser
        from leakrange.providers.loop import EpochSelection

        given, truth = self.parameters, torch.from_numpy(labels)
        decay = OptimiserSpec(name="adamw", weight_decay=WEIGHT_DECAY)
        schedule = Schedule(
            epochs=given.epochs, batch=given.batch, lr=given.lr, decay="cosine", optimiser=decay
        )
        net = self._built(spec, classes)
        descent = optimiser(net.parameters(), schedule)
        kept: EpochSelection[dict[str, Tensor]] = EpochSelection()
        for epoch in range(given.epochs):
            descent.lr = descent.initial * schedule.share(epoch)
            draw = draws[epoch % len(draws)]
            samples = torch.from_numpy(draw)
            net.train()
            for part in torch.split(learning[torch.randperm(len(learning))], given.batch):
                if len(part) > 1:  # batch norm wants more than one sample
                    descent.descend(cross_entropy(net(to_input(samples[part], spec)), truth[part]))
            loss = float(nll_loss(_log_probabilities(net, draw[held.numpy()]), truth[held]))
            kept.offer(epoch + 1, -loss, lambda: copy.deepcopy(net.state_dict()))
        net.load_state_dict(kept.state)
        return net

    def infer(
        self,
        state: Mapping[str, NDArray[Any]],
        draws: Sequence[NDArray[np.float32]],
        classes: int,
        spec: SampleSpec,
    ) -> Inference:
        """The inference of the classifier of that ``state`` about samples, from one or more ``draws`` (V,
        *shape) of them. Raises `InvalidInput` for samples of another shape."""
        if any(draw.shape[1:] != spec.shape or not np.isfinite(draw).all() for draw in draws):
            raise InvalidInput(f"observed samples must be finite, and of shape {spec.shape}")
        net = self.classifier(state, classes, spec)
        way = draws if state[TOGETHER] else [_mean(draws)]
        scores = _joint_log_probabilities(net, way).exp().numpy()
        return Inference(scores.argmax(axis=1).astype(np.int64), scores)

    def panel(
        self,
        state: Mapping[str, NDArray[Any]],
        observed: Sequence[NDArray[np.float32]],
        draws: Sequence[NDArray[np.float32]],
        labels: NDArray[np.int64],
        classes: int,
        spec: SampleSpec,
        seed: int,
        group: NDArray[np.int64] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """See `Inference.panel`: the net of that ``state``, which `fit` made of the same lessons, and the
        other learners of the panel, about the ``observed`` draws (V, *shape).

        Of the others the best on all records, each held out once, is compared with the net on the fifth that
        this has not learned from. The first is whoever ranks it better (AUC).
        """
        rows = _mean(draws).reshape(len(labels), -1)
        others = panel(rows, labels, classes, _learners(), soft=False, group=group, seed=seed)
        fold = dealt(labels, group, seed)
        held = _held_out(fold, labels)
        truth, at_once = labels[held], np.zeros(int(held.sum()), dtype=np.int64)  # no folds: one net
        shares = self.infer(state, [draw[held] for draw in draws], classes, spec).scores
        net = np.log(np.maximum(shares.astype(np.float64), 1e-12))
        area = tell_apart(net, truth, at_once)
        victims = _mean(observed).reshape(len(observed[0]), -1)
        rows_of_others = [each.row(victims) for each in others]
        loss = -net[np.arange(len(truth)), truth].mean()
        row = NET, "raw", area, float(loss), self.infer(state, observed, classes, spec).scores
        if area >= tell_apart(others[0].held_out[held], truth, at_once):
            of_held = None if group is None else group[held]
            return panel_arrays([row, *rows_of_others], net, at_once, truth, of_held)
        return panel_arrays([*rows_of_others, row], others[0].held_out, fold, labels, group)

    def classifier(self, state: Mapping[str, NDArray[Any]], classes: int, spec: SampleSpec) -> Classifier:
        """The classifier of that ``state``, in eval mode."""
        import torch

        net = self._built(spec, classes)
        net.load_state_dict(
            {name: torch.from_numpy(np.array(value)) for name, value in state.items() if name != TOGETHER}
        )
        return net.eval()

    def _built(self, spec: SampleSpec, classes: int) -> Classifier:
        from leakrange.nets import nets

        chosen = self.net(spec)
        return nets[chosen.name].build(spec, classes, chosen.width)


def _learners() -> list[Learner]:
    """The panel beside the net."""
    return [
        LogisticRegression(WIDEST),
        NearestMean(),
        BoostedTrees(WIDEST),
        NearestNeighbours(),
        Perceptron(),
    ]


def _held_out(fold: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the records (A,) of the fold that no net learns from: among folds with most classes, the
    smallest."""
    parts = [fold == number for number in range(int(fold.max()) + 1)]
    return min(parts, key=lambda part: (-len(np.unique(labels[part])), int(part.sum())))


def _mean(draws: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    mean: NDArray[np.float32] = np.mean(draws, axis=0, dtype=np.float32)
    return mean


def _log_probabilities(net: Classifier, samples: NDArray[np.float32]) -> Tensor:
    """Log-probabilities (B, classes)."""
    import torch

    from leakrange.providers.inference import logits_of

    return logits_of(net, torch.from_numpy(samples)).log_softmax(1)


def _joint_log_probabilities(net: Classifier, draws: Sequence[NDArray[np.float32]]) -> Tensor:
    """Log-probabilities (V, classes) by all draws of each sample."""
    import torch

    return torch.stack([_log_probabilities(net, draw) for draw in draws]).sum(dim=0).log_softmax(dim=1)


def _check(
    draws: Sequence[NDArray[np.float32]], labels: NDArray[np.int64], classes: int, spec: SampleSpec
) -> None:
    if any(draw.shape != (len(labels), *spec.shape) for draw in draws):
        raise InvalidInput(f"draws of {len(labels)} labelled samples must be of shape {spec.shape} each")
    if len(labels) < FEWEST:
        raise InvalidInput(f"{len(labels)} labelled samples; the attack needs at least {FEWEST}")
    if labels.min() < 0 or labels.max() >= classes:
        raise InvalidInput(f"labels must lie in 0..{classes - 1}; leave unknown ones out")
    if not all(np.isfinite(draw).all() for draw in draws):
        raise InvalidInput("a sample holds values that are not finite")
