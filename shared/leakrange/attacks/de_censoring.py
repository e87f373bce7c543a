"""Undoing what was taken out of a representation, with the help of a model that takes out nothing."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Evidence, Inference
from leakrange.attacks.attribute_inference import (
    AttributeInference,
    AttributeInferenceParameters,
    check_evidence,
)
from leakrange.attacks.panel.panel import dealt
from leakrange.attacks.probing import FEWEST, Probing, ProbingParameters
from leakrange.jobs.net_choice import NetChoice
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.nets.decoder import Regressor

__all__ = ["DeCensoring"]

PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Penalties of the linear map that T begins with; held-out records choose one."""
BATCH = 64
PATIENCE = 10
CLIP = 10.0
"""Standardised releases are cut at this many deviations, as `attribute_inference` does."""


class DeCensoringParameters(AttributeInferenceParameters):
    """Those of attribute inference, and the ``net`` of the attacker's own model, by default a small one for
    the kind of sample; ``epochs`` and ``lr`` are of each of its three trainings."""

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 500
    net: NetChoice | None = None


@attacks.register("de-censoring")
class DeCensoring(AttributeInference):
    """The attacker trains a classifier of the attribute, with features E(x), on its own samples, which nobody
    has censored. A net T learns to predict E(x) from the release of x; a panel as of attribute inference
    learns the attribute from T's predictions.

    There are five T, each of which learns from four fifths of the records, and begins as the best linear map.
    Their predictions for the fifths that they have not seen are what the panel learns from; those for the
    victims are averaged.
    """

    name: ClassVar[str] = "de-censoring"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "maps releases to the features of a model that hides nothing"
    paper: ClassVar[str] = "Song and Shmatikov 2020"
    equation: ClassVar[str] = "Section 3.1, Algorithm 1"
    grants: ClassVar[tuple[str, ...]] = ("queries", "auxiliary records with the hidden attribute")
    keeps: ClassVar[bool] = False
    Parameters: ClassVar[type[DeCensoringParameters]] = DeCensoringParameters

    def infer(self, evidence: Evidence) -> Inference:
        """Fit all three and apply them to the victims. Raises `InvalidInput` for evidence that cannot be
        used, such as releases without the samples."""
        from leakrange.providers.loop import seeded

        check_evidence(evidence)
        features = self._features(evidence)
        with seeded(evidence.seed):
            seen, observed = self._transformed(evidence, features)
        inference = super().infer(replace(evidence, auxiliary=seen, observed=observed, release="features"))
        return replace(inference, learnt={})  # what was learnt last reads no releases, but T's output

    def _features(self, evidence: Evidence) -> NDArray[np.float32]:
        """E(x) of the attacker's samples (A, F)."""
        from leakrange.providers.inference import outputs

        samples, spec = evidence.samples, evidence.spec
        if samples is None or spec is None:
            raise InvalidInput("de-censoring needs the auxiliary records' samples, not their releases alone")
        labels, classes, given = evidence.auxiliary_labels, evidence.classes, self.parameters
        probing = Probing(ProbingParameters(net=given.net, epochs=given.epochs, lr=given.lr))
        state = probing.fit([samples], labels, classes, spec, evidence.seed, evidence.auxiliary_group)
        net = probing.classifier(state, classes, spec)
        return outputs(net, samples, "features")

    def _transformed(
        self, evidence: Evidence, features: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """T's predictions for the auxiliary releases (A, F), each by the T that has not seen it, and for the
        victims' (V, F); standardised, as features are."""
        import torch

        releases, observed = _standardised(evidence.auxiliary, evidence.auxiliary, evidence.observed)
        (target,) = _standardised(features, features)
        fold = torch.from_numpy(dealt(evidence.auxiliary_labels, evidence.auxiliary_group, evidence.seed))
        seen = torch.empty_like(target)
        victims = torch.zeros(len(observed), target.shape[1])
        folds = int(fold.max()) + 1
        for number in range(folds):
            held = fold == number
            net = self._fitted(releases[~held], target[~held], releases[held], target[held])
            with torch.inference_mode():
                seen[held] = net(releases[held])
                victims += net(observed) / folds
        return seen.numpy(), victims.numpy()

    def _fitted(self, lessons: Tensor, target: Tensor, held: Tensor, truth: Tensor) -> Regressor:
        """Fit T by least squares; return it as of the epoch that did best on the ``held`` releases."""
        import torch
        from torch.nn.functional import mse_loss

        from leakrange.jobs.recipe import Schedule
        from leakrange.nets.decoder import Regressor
        from leakrange.providers.loop import EpochSelection, FittedNet, Lessons, Trainer

        net = Regressor(lessons.shape[1], target.shape[1])

        def held_out_loss() -> float:
            net.eval()
            with torch.inference_mode():
                return float(mse_loss(net(held), truth))

        kept: EpochSelection[dict[str, Tensor]] = EpochSelection()
        kept.offer(0, -held_out_loss(), lambda: copy.deepcopy(net.state_dict()))
        for penalty in PENALTIES:
            net.start_from(lessons, target, penalty)
            kept.offer(0, -held_out_loss(), lambda: copy.deepcopy(net.state_dict()))
        net.load_state_dict(kept.state)
        schedule = Schedule(epochs=self.parameters.epochs, batch=BATCH, lr=self.parameters.lr)
        trainer = Trainer(
            FittedNet(net, mse_loss, schedule), Lessons(lessons, target), batch=min(BATCH, len(lessons))
        )
        for epoch in range(1, self.parameters.epochs + 1):
            trainer.epoch()
            kept.offer(epoch, -held_out_loss(), lambda: copy.deepcopy(net.state_dict()))
            if epoch - kept.epoch >= PATIENCE:
                break
        net.load_state_dict(kept.state)
        return net.eval()


def _standardised(by: NDArray[np.float32], *arrays: NDArray[np.float32]) -> list[Tensor]:
    """Standardise the rows of each array by the means and deviations of ``by``; what never changed there
    becomes 0."""
    import torch

    rows = by.reshape(len(by), -1)
    mean, deviation = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
    deviation[deviation < 1e-6] = np.inf
    scaled = ((each.reshape(len(each), -1) - mean) / deviation for each in arrays)
    return [torch.from_numpy(np.clip(each, -CLIP, CLIP).astype(np.float32)) for each in scaled]
