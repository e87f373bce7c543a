"""Inferring an attribute that a model was not trained for, from its releases (overlearning)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Evidence, Inference, Knowledge
from leakrange.metrics import softmax
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.nets.stacked import StackedAttackNets

__all__ = ["AttributeInference", "AttributeInferenceParameters", "check_evidence"]

FEWEST = 20
FOLDS = 5
SMALLEST_BATCH, LARGEST_BATCH = 8, 100
STEPS = 10
"""An epoch over few records still makes so many steps (as far as the smallest batch allows)."""
PATIENCE = 15
WEIGHT_DECAY = 1e-2
"""Without it G falls ten points behind logistic regression on a ``features`` release; on logits it changes
nothing."""
LEAK = 0.01
"""The slope of the nets' LeakyReLU below 0."""
CLIP = 10.0
"""Standardised inputs are cut at so many deviations: victims far from all auxiliary records decide nothing
by their size."""


class AttributeInferenceParameters(BaseModel):
    """The attribute, the number of labelled records and whose they are, how often the averaging attacker
    repeats a query, and the training of G.

    ``records``: "auxiliary" records are the attacker's own; with "train" the attacker has the records that
    the model was trained on, as the party who trained it does (HBC Section 5.1.4)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sensitive: str
    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 500
    records: Literal["auxiliary", "train"] = "auxiliary"
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    epochs: Annotated[int, Field(ge=1, le=1000)] = 60
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 3e-3


@attacks.register("attribute-inference")
class AttributeInference(AttributeAttack):
    """Nets G (HBC Table 13) trained on releases of records whose attribute the attacker knows.

    The attack averages five nets, each fitted on four fifths of the records. It keeps the epoch with the
    least cross-entropy on the held-out fifths. The nets start from the classes' shares, so that releases
    without information give the majority class. Releases of any rank are flattened.
    """

    name: ClassVar[str] = "attribute-inference"
    summary: ClassVar[str] = "nets fitted on releases of labelled auxiliary records (overlearning)"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.1.4 (Std), Table 13"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features", "sample")
    grants: ClassVar[tuple[str, ...]] = ("queries", "auxiliary records with the hidden attribute")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    keeps: ClassVar[bool] = True
    Parameters: ClassVar[type[BaseModel]] = AttributeInferenceParameters

    def infer(self, evidence: Evidence) -> Inference:
        """Fit G and apply it to the victims. Raises `InvalidInput` for evidence that cannot be used."""
        import torch

        check_evidence(evidence)
        auxiliary = evidence.auxiliary.reshape(len(evidence.auxiliary), -1)
        mean = auxiliary.mean(axis=0, dtype=np.float64)
        deviation = auxiliary.std(axis=0, dtype=np.float64)
        deviation[deviation < 1e-6] = (
            np.inf
        )  # a value that never changed says nothing, whatever the victims' is

        def standardised(releases: NDArray[np.float32]) -> Tensor:
            return torch.from_numpy(_standardised(releases, mean, deviation))

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(evidence.seed)
            nets = self._fit(
                standardised(auxiliary), torch.tensor(evidence.auxiliary_labels), evidence.classes
            )
        observed = standardised(evidence.observed.reshape(len(evidence.observed), -1))
        with torch.inference_mode():
            scores = nets(observed.expand(FOLDS, -1, -1)).softmax(dim=2).mean(dim=0).numpy()
        learnt = {"mean": mean, "deviation": deviation}
        for number, (weight, bias) in enumerate(zip(nets.weights, nets.biases, strict=True)):
            learnt |= {f"weight{number}": weight.detach().numpy(), f"bias{number}": bias.detach().numpy()}
        return Inference(scores.argmax(axis=1).astype(np.int64), cast(NDArray[np.float32], scores), learnt)

    @classmethod
    def again(cls, learnt: Mapping[str, NDArray[Any]], observed: NDArray[np.float32]) -> Inference:
        """See `AttributeAttack.again`: the forward pass of the five nets, in NumPy."""
        if not {"mean", "deviation", "weight0", "bias0"} <= learnt.keys():
            raise InvalidInput("nothing of what the attack learnt was kept")
        rows = observed.reshape(len(observed), -1)
        if rows.shape[1:] != learnt["mean"].shape:
            raise InvalidInput(
                f"the attack learnt from releases of {len(learnt['mean'])} values, not {rows.shape[1]}"
            )
        values = _standardised(rows, learnt["mean"], learnt["deviation"])[None]
        last = sum(name.startswith("weight") for name in learnt) - 1
        for number in range(last + 1):
            values = values @ learnt[f"weight{number}"] + learnt[f"bias{number}"]
            if number < last:
                values = np.where(values > 0, values, LEAK * values)
        scores = softmax(values.reshape(-1, values.shape[-1])).reshape(values.shape).mean(axis=0)
        return Inference(scores.argmax(axis=1).astype(np.int64), scores.astype(np.float32))

    def _fit(self, releases: Tensor, labels: Tensor, classes: int) -> StackedAttackNets:
        """One net for each fold, all from the epoch that did best on the held-out records."""
        import torch
        from torch.nn.functional import cross_entropy

        from leakrange.nets.decoder import AttackNet
        from leakrange.nets.optimisers import Adam
        from leakrange.nets.stacked import StackedAttackNets
        from leakrange.providers.loop import Selection

        count = len(labels)
        nets = StackedAttackNets([AttackNet(releases.shape[1], classes) for _ in range(FOLDS)])
        shares = (torch.bincount(labels, minlength=classes).float() + 0.5) / (count + 0.5 * classes)
        with torch.no_grad():
            nets.weights[-1].zero_()
            nets.biases[-1].copy_(shares.log())
        optimiser = Adam(nets.parameters(), lr=self.parameters.lr, weight_decay=WEIGHT_DECAY)

        order = torch.randperm(count)
        fold = torch.empty(count, dtype=torch.int64)
        fold[order] = torch.arange(count) % FOLDS
        held = fold == torch.arange(FOLDS).unsqueeze(1)  # (folds, records)
        fewest = int((~held).sum(dim=1).min())  # folds differ by a record: batches are cut to the same length
        lessons = torch.stack([torch.nonzero(~part).flatten()[:fewest] for part in held])
        batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, count // STEPS))

        def held_out_loss() -> float:
            nets.eval()
            with torch.inference_mode():
                logits = nets(releases.expand(FOLDS, -1, -1))
            return float(cross_entropy(logits[held], labels.expand(FOLDS, -1)[held]))

        kept: Selection[dict[str, Tensor]] = Selection()
        kept.offer(0, -held_out_loss(), lambda: copy.deepcopy(nets.state_dict()))
        for epoch in range(1, self.parameters.epochs + 1):
            nets.train()
            shuffled = lessons.gather(1, torch.rand(lessons.shape).argsort(dim=1))
            for step in torch.split(shuffled, batch, dim=1):
                # a sum over folds of means over records: no fold's gradient depends on the others
                loss = FOLDS * cross_entropy(nets(releases[step]).flatten(0, 1), labels[step].flatten())
                optimiser.descend(loss)
            kept.offer(epoch, -held_out_loss(), lambda: copy.deepcopy(nets.state_dict()))
            if epoch - kept.epoch >= PATIENCE:
                break
        nets.load_state_dict(kept.state)
        return nets.eval()


def _standardised(
    releases: NDArray[np.float32], mean: NDArray[np.floating], deviation: NDArray[np.floating]
) -> NDArray[np.float32]:
    return cast(NDArray[np.float32], np.clip((releases - mean) / deviation, -CLIP, CLIP).astype(np.float32))


def check_evidence(evidence: Evidence) -> None:
    """Raises `InvalidInput` for evidence from which no net can learn, or by which none can be judged."""
    auxiliary, labels, observed = evidence.auxiliary, evidence.auxiliary_labels, evidence.observed
    if auxiliary.ndim < 2 or auxiliary.shape[1:] != observed.shape[1:]:
        raise InvalidInput(
            f"auxiliary releases {auxiliary.shape} and observed ones {observed.shape} do not match"
        )
    if len(labels) != len(auxiliary):
        raise InvalidInput(f"{len(labels)} labels for {len(auxiliary)} auxiliary records")
    if len(auxiliary) < FEWEST:
        raise InvalidInput(f"{len(auxiliary)} auxiliary records; the attack needs at least {FEWEST}")
    if labels.min() < 0 or labels.max() >= evidence.classes:
        raise InvalidInput(f"auxiliary labels must lie in 0..{evidence.classes - 1}; leave unknown ones out")
    if not (np.isfinite(auxiliary).all() and np.isfinite(observed).all()):
        raise InvalidInput("a release holds values that are not finite")
