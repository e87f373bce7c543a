"""Reconstructing samples from the releases of a model that the attacker did not train."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Knowledge, Pairs, ReconstructionAttack
from leakrange.attacks.extraction import CopyParameters, copied_net
from leakrange.attacks.learning import EarlyStopping, check_releases, flat, scale_of, standardised
from leakrange.jobs.versions import VersionChange
from leakrange.metrics.entropy import softmax
from leakrange.nets.reconstructors import reconstructors
from leakrange.providers.reconstruction import LossWeights, ReconstructorSpec
from leakrange.registry import unknown
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.wire.samples import SampleSpec

__all__ = ["Reconstruction"]

FEWEST = 50
HELD = 5
"""One in this many records is held out, to choose the epoch."""
SMALLEST_BATCH, LARGEST_BATCH = 8, 64
STEPS = 10
"""The least number of steps of an epoch, even over few records (as far as the smallest batch allows)."""
PATIENCE = 15
LEAST = np.float32(1e-30)
"""Probabilities are held above this where their logarithm is taken."""


class ReconstructionParameters(Strict):
    """The number of records and whose they are, how often the averaging attacker repeats a query, the net G
    and its training.

    ``records``: "auxiliary" records are the attacker's own; with "train" the attacker has the records that
    the model was trained on, as the party who trained it does. Such a party that knows a defence can so train
    its decoder again on defended outputs.

    ``unasked``: so many more records of its own are answered for by a copy of the model, a net that learns
    the answers that were asked."""

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 1000
    records: Literal["auxiliary", "train"] = "auxiliary"
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    epochs: Annotated[int, Field(ge=1, le=1000)] = 60
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 3e-3
    decoder: ReconstructorSpec = ReconstructorSpec()
    loss: LossWeights = LossWeights()
    unasked: Annotated[int, Field(ge=0, le=100_000, exclude_if=operator.not_)] = 0


@attacks.register("reconstruction")
class Reconstruction(ReconstructionAttack):
    """A net G trained to draw the attacker's own samples from their releases.

    G draws what differs from the mean picture: releases without information give that. It is the G of the
    epoch that did best on a fifth of the records, which it does not learn from; or the mean picture alone,
    where no epoch did better. Releases of any rank are flattened. Of probabilities G also sees the
    logarithms: where a model is sure of its answer, only they tell the other classes apart.
    """

    name: ClassVar[str] = "reconstruction"
    version: ClassVar[int] = 2
    changes: ClassVar[Mapping[int, VersionChange]] = {
        2: VersionChange("it finds what numbers tell that vary by less than a millionth")
    }
    summary: ClassVar[str] = "a decoder of samples, fitted on releases of auxiliary samples"
    paper: ClassVar[str] = "VICIOUS"
    equation: ClassVar[str] = "Eq. 3, for a classifier that somebody else has trained"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features")
    grants: ClassVar[tuple[str, ...]] = ("queries", "auxiliary records", "every release that users upload")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[BaseModel]] = ReconstructionParameters

    @classmethod
    def misfit(cls, parameters: Any, spec: SampleSpec) -> str | None:
        """See `ReconstructionAttack.misfit`."""
        name = parameters.decoder.name
        net = reconstructors.get(name)
        if net is None:
            return f"{unknown('net G', name, reconstructors)}; there are {', '.join(sorted(reconstructors))}"
        return net.misfit(spec)

    def reconstruct(self, evidence: Pairs) -> NDArray[np.float32]:
        """Fit G and apply it to the victims. Raises `InvalidInput` for evidence that cannot be used."""
        import torch

        from leakrange.nets.reconstructor import from_pixels, to_pixels
        from leakrange.providers.loop import seeded

        _check(evidence)
        if evidence.unasked is not None and len(evidence.unasked):
            evidence = self._answered(evidence, evidence.unasked)
        both = (evidence.auxiliary, evidence.observed)
        logarithms = all(_are_probabilities(each) for each in both)
        rows, observed = (_rows(each, logarithms) for each in both)
        scale = scale_of(rows)
        pictures = to_pixels(torch.from_numpy(evidence.samples))
        with seeded(evidence.seed):
            net = self._fit(torch.from_numpy(standardised(rows, *scale)), pictures, evidence.spec)
        with torch.inference_mode():
            parts = torch.split(torch.from_numpy(standardised(observed, *scale)), 500)
            drawn = torch.cat([from_pixels(net(part)) for part in parts])
        return cast(NDArray[np.float32], drawn.contiguous().numpy())

    @staticmethod
    def _answered(evidence: Pairs, unasked: NDArray[Any]) -> Pairs:
        """Evidence with what a copy answers about the samples that were ``unasked``. Logits are held against
        each other after their softmax, since a copy cannot learn what all of them share."""
        from leakrange.providers.inference import outputs

        asked, observed = (
            each if _are_probabilities(each) else softmax(each).astype(np.float32)
            for each in (evidence.auxiliary, evidence.observed)
        )
        copy = copied_net(evidence.samples, asked, "softmax", evidence.spec, CopyParameters(), evidence.seed)
        answers = softmax(outputs(copy, unasked, "logits")).astype(np.float32)
        return replace(
            evidence,
            auxiliary=np.concatenate([asked, answers]),
            samples=np.concatenate([evidence.samples, unasked]),
            observed=observed,
        )

    def _fit(self, releases: Tensor, pictures: Tensor, spec: SampleSpec) -> nn.Module:
        """Fit G; return it as of the best epoch, in eval mode."""
        import torch

        from leakrange.jobs.recipe import Schedule
        from leakrange.nets.reconstructor import AboutMean
        from leakrange.providers.loop import FittedNet, Lessons, Trainer
        from leakrange.providers.reconstruction_loss import reconstruction_loss

        chosen, weights, epochs = self.parameters.decoder, self.parameters.loss, self.parameters.epochs
        held, learning = torch.randperm(len(releases)).tensor_split([len(releases) // HELD])
        batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, len(learning) // STEPS))
        drawing = reconstructors[chosen.name].build(spec, releases.shape[1], chosen.width)
        net = AboutMean(drawing, pictures[learning].mean(dim=0))

        def loss(drawn: Tensor, samples: Tensor) -> Tensor:
            return reconstruction_loss(drawn, samples, weights)

        stopping = EarlyStopping(net, lambda: loss(net(releases[held]), pictures[held]), PATIENCE)
        with net.blank():
            stopping.offer()
        trainee = FittedNet(net, loss, Schedule(epochs=epochs, batch=batch, lr=self.parameters.lr))
        trainer = Trainer(trainee, Lessons(releases[learning], pictures[learning]), batch=batch)
        stopping.train(epochs, trainer.epoch)
        return net


def _are_probabilities(releases: NDArray[np.float32]) -> bool:
    return not releases.size or bool(releases.min() >= 0.0 and releases.max() <= 1.0)


def _rows(releases: NDArray[np.float32], logarithms: bool) -> NDArray[np.float32]:
    """Releases (B, ...) flattened, with the logarithms of all values behind them where asked for."""
    rows = flat(releases)
    if not logarithms:
        return rows
    return np.concatenate([rows, np.log(np.maximum(rows, LEAST))], axis=1)


def _check(evidence: Pairs) -> None:
    if len(evidence.samples) != len(evidence.auxiliary):
        raise InvalidInput(
            f"{len(evidence.samples)} samples for {len(evidence.auxiliary)} auxiliary releases"
        )
    check_releases(evidence.auxiliary, evidence.observed, FEWEST)
