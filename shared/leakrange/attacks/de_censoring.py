"""Undoing what was taken out of a representation, with the help of a model that takes out nothing."""

from __future__ import annotations

from collections.abc import Mapping
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
from leakrange.attacks.learning import EarlyStopping, dealt, flat, scale_of, standardised
from leakrange.attacks.probing import FEWEST, Probing, ProbingParameters
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.versions import VersionChange
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.nets.decoder import Regressor

__all__ = ["DeCensoring"]

PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Penalties of the linear map that T begins with; held-out records choose one."""
BATCH = 64
PATIENCE = 10


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
    version: ClassVar[int] = 3
    changes: ClassVar[Mapping[int, VersionChange]] = {
        3: VersionChange(
            "it finds what probabilities below a millionth tell, and numbers that vary by less than that"
        )
    }
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
        from torch.nn.functional import mse_loss

        from leakrange.jobs.recipe import Schedule
        from leakrange.nets.decoder import Regressor
        from leakrange.providers.loop import FittedNet, Lessons, Trainer

        net = Regressor(lessons.shape[1], target.shape[1])

        stopping = EarlyStopping(net, lambda: mse_loss(net(held), truth), PATIENCE)
        stopping.offer()
        for penalty in PENALTIES:
            net.start_from(lessons, target, penalty)
            stopping.offer()
        stopping.take_best()
        schedule = Schedule(epochs=self.parameters.epochs, batch=BATCH, lr=self.parameters.lr)
        trainer = Trainer(
            FittedNet(net, mse_loss, schedule), Lessons(lessons, target), batch=min(BATCH, len(lessons))
        )
        stopping.train(self.parameters.epochs, trainer.epoch)
        return net


def _standardised(by: NDArray[np.float32], *arrays: NDArray[np.float32]) -> list[Tensor]:
    """Standardise the rows of each array by the means and deviations of ``by``; what never changed there
    becomes 0."""
    import torch

    scale = scale_of(flat(by))
    return [torch.from_numpy(standardised(flat(each), *scale)) for each in arrays]
