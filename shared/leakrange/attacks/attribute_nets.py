"""The nets of HBC Table 13, which infer an attribute that a model was not trained for (overlearning)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Evidence, Inference, Knowledge, check_lengths
from leakrange.attacks.learning import (
    FOLDS,
    EarlyStopping,
    check_releases,
    dealt,
    flat,
    scale_of,
    standardised,
)
from leakrange.jobs.versions import VersionChange
from leakrange.metrics import softmax
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.nets.decoder import StackedAttackNets

__all__ = [
    "AttributeInferenceParameters",
    "AttributeNets",
    "arrays_of",
    "check_evidence",
    "fitted_nets",
    "forward",
]

FEWEST = 20
SMALLEST_BATCH, LARGEST_BATCH = 8, 100
STEPS = 10
"""The least number of steps of an epoch, even over few records (as far as the smallest batch allows)."""
PATIENCE = 15
WEIGHT_DECAY = 1e-2
"""Without it G falls ten points behind logistic regression on a ``features`` release; on logits it changes
nothing."""
LEAK = 0.01
"""The slope of the nets' LeakyReLU below 0."""


class AttributeInferenceParameters(Strict):
    """The attribute, the number of labelled records and whose they are, how often the averaging attacker
    repeats a query, and the training of G.

    ``records``: "auxiliary" records are the attacker's own; with "train" the attacker has the records that
    the model was trained on, as the party who trained it does (HBC Section 5.1.4)."""

    sensitive: str
    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 500
    records: Literal["auxiliary", "train"] = "auxiliary"
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    epochs: Annotated[int, Field(ge=1, le=1000)] = 60
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 3e-3


@attacks.register("attribute-nets")
class AttributeNets(AttributeAttack):
    """Nets G (HBC Table 13) trained on releases of records whose attribute the attacker knows.

    The attack averages five nets, each fitted on four fifths of the records. It keeps the epoch with the
    least cross-entropy on the held-out fifths. The nets start from the classes' shares, so that releases
    without information give the majority class. So do releases of which the nets learn too slowly: what the
    paper's nets do not find may be there, and `attribute-inference` looks for it with others. Releases of any
    rank are flattened. The fifths are drawn at random, also where records resemble each other, but so that
    each has its share of every class: a net that saw none of a rare class would deny it.
    """

    name: ClassVar[str] = "attribute-nets"
    version: ClassVar[int] = 2
    changes: ClassVar[Mapping[int, VersionChange]] = {
        2: VersionChange(
            "it finds what numbers tell that vary by less than a millionth, and each of its nets learns from "
            "every class"
        )
    }
    summary: ClassVar[str] = "the paper's nets alone, fitted on releases of labelled auxiliary records"
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
        auxiliary = flat(evidence.auxiliary)
        mean, deviation = scale_of(auxiliary)
        fold = dealt(evidence.auxiliary_labels, None, evidence.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(evidence.seed)
            nets = fitted_nets(
                torch.from_numpy(standardised(auxiliary, mean, deviation)),
                torch.tensor(evidence.auxiliary_labels),
                evidence.classes,
                self.parameters,
                torch.from_numpy(fold),
            )
        observed = torch.from_numpy(standardised(flat(evidence.observed), mean, deviation))
        with torch.inference_mode():
            scores = nets(observed.expand(FOLDS, -1, -1)).softmax(dim=2).mean(dim=0).numpy()
        learnt = {"mean": mean, "deviation": deviation, **arrays_of(nets)}
        return Inference(scores.argmax(axis=1).astype(np.int64), cast(NDArray[np.float32], scores), learnt)

    @classmethod
    def again(cls, learnt: Mapping[str, NDArray[Any]], observed: NDArray[np.float32]) -> Inference:
        """See `AttributeAttack.again`: the forward pass of the five nets, in NumPy."""
        if not {"mean", "deviation", "weight0", "bias0"} <= learnt.keys():
            raise InvalidInput("nothing of what the attack learnt was kept")
        rows = flat(observed)
        if rows.shape[1:] != learnt["mean"].shape:
            raise InvalidInput(
                f"the attack learnt from releases of {len(learnt['mean'])} values, not {rows.shape[1]}"
            )
        logits = forward(learnt, standardised(rows, learnt["mean"], learnt["deviation"]))
        scores = softmax(logits.reshape(-1, logits.shape[-1])).reshape(logits.shape).mean(axis=0)
        return Inference(scores.argmax(axis=1).astype(np.int64), scores.astype(np.float32))


def fitted_nets(
    releases: Tensor,
    labels: Tensor,
    classes: int,
    parameters: Any,
    fold: Tensor,
    patience: int = PATIENCE,
) -> StackedAttackNets:
    """One net for each fold, all from the epoch that did best on the held-out records.

    releases: (A, N), standardised. ``fold`` (A,) in 0 .. folds − 1 says which net does not learn from a
    record. The training ends after ``patience`` epochs that were not better."""
    import torch
    from torch.nn.functional import cross_entropy

    from leakrange.nets.decoder import AttackNet, StackedAttackNets
    from leakrange.nets.optimisers import Adam

    count = len(labels)
    folds = int(fold.max()) + 1
    nets = StackedAttackNets([AttackNet(releases.shape[1], classes) for _ in range(folds)])
    shares = (torch.bincount(labels, minlength=classes).float() + 0.5) / (count + 0.5 * classes)
    with torch.no_grad():
        nets.weights[-1].zero_()
        nets.biases[-1].copy_(shares.log())
    optimiser = Adam(nets.parameters(), lr=parameters.lr, weight_decay=WEIGHT_DECAY)

    held = fold == torch.arange(folds).unsqueeze(1)  # (folds, records)
    fewest = int((~held).sum(dim=1).min())  # folds differ by a record: batches are cut to the same length
    lessons = torch.stack([torch.nonzero(~part).flatten()[:fewest] for part in held])
    batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, count // STEPS))

    def held_out_loss() -> Tensor:
        return cross_entropy(nets(releases.expand(folds, -1, -1))[held], labels.expand(folds, -1)[held])

    def epoch() -> None:
        nets.train()
        shuffled = lessons.gather(1, torch.rand(lessons.shape).argsort(dim=1))
        for step in torch.split(shuffled, batch, dim=1):
            # a sum over folds of means over records: no fold's gradient depends on the others
            loss = folds * cross_entropy(nets(releases[step]).flatten(0, 1), labels[step].flatten())
            optimiser.descend(loss)

    stopping = EarlyStopping(nets, held_out_loss, patience)
    stopping.offer()
    stopping.train(parameters.epochs, epoch)
    return nets


def arrays_of(nets: StackedAttackNets) -> dict[str, NDArray[Any]]:
    """The arrays that `forward` applies: ``weight0``, ``bias0`` and so on, layer by layer."""
    arrays: dict[str, NDArray[Any]] = {}
    for number, (weight, bias) in enumerate(zip(nets.weights, nets.biases, strict=True)):
        arrays |= {f"weight{number}": weight.detach().numpy(), f"bias{number}": bias.detach().numpy()}
    return arrays


def forward(arrays: Mapping[str, NDArray[Any]], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logits (nets, V, S) of nets side by side, of standardised releases (V, N)."""
    hidden = values[None]
    last = sum(name.startswith("weight") for name in arrays) - 1
    for number in range(last + 1):
        hidden = hidden @ arrays[f"weight{number}"] + arrays[f"bias{number}"]
        if number < last:
            hidden = np.where(hidden > 0, hidden, LEAK * hidden)
    return hidden


def check_evidence(evidence: Evidence) -> None:
    """Raise `InvalidInput` for evidence from which no net can learn, or by which none can be judged."""
    labels = evidence.auxiliary_labels
    check_lengths(
        auxiliary=evidence.auxiliary,
        auxiliary_labels=labels,
        samples=evidence.samples,
        auxiliary_group=evidence.auxiliary_group,
    )
    check_releases(evidence.auxiliary, evidence.observed, FEWEST)
    if labels.min() < 0 or labels.max() >= evidence.classes:
        raise InvalidInput(f"auxiliary labels must lie in 0..{evidence.classes - 1}; leave unknown ones out")
