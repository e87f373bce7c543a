"""Reconstructing samples from the releases of a model that the attacker did not train."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Knowledge, Pairs, ReconstructionAttack
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
CLIP = 10.0
"""Standardised inputs are cut at this many deviations, as `attribute_inference` does."""


class ReconstructionParameters(Strict):
    """The number of records and whose they are, how often the averaging attacker repeats a query, the net G
    and its training.

    ``records``: "auxiliary" records are the attacker's own; with "train" the attacker has the records that
    the model was trained on, as the party who trained it does. Such a party that knows a defence can so train
    its decoder again on defended outputs."""

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 1000
    records: Literal["auxiliary", "train"] = "auxiliary"
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    epochs: Annotated[int, Field(ge=1, le=1000)] = 60
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 3e-3
    decoder: ReconstructorSpec = ReconstructorSpec()
    loss: LossWeights = LossWeights()


@attacks.register("reconstruction")
class Reconstruction(ReconstructionAttack):
    """A net G trained to draw the attacker's own samples from their releases.

    G draws what differs from the mean picture: releases without information give that. It is the G of the
    epoch that did best on a fifth of the records, which it does not learn from; or the mean picture alone,
    where no epoch did better. Releases of any rank are flattened. Of probabilities G also sees the
    logarithms: where a model is sure of its answer, only they tell the other classes apart.
    """

    name: ClassVar[str] = "reconstruction"
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
        both = (evidence.auxiliary, evidence.observed)
        logarithms = all(each.min() >= 0.0 and each.max() <= 1.0 for each in both if each.size)
        auxiliary = _rows(evidence.auxiliary, logarithms)
        mean = auxiliary.mean(axis=0, dtype=np.float64)
        deviation = auxiliary.std(axis=0, dtype=np.float64)
        deviation[deviation < 1e-6] = np.inf  # a value that never changed says nothing

        def standardised(releases: NDArray[np.float32]) -> Tensor:
            rows = _rows(releases, logarithms)
            return torch.from_numpy(np.clip((rows - mean) / deviation, -CLIP, CLIP).astype(np.float32))

        pictures = to_pixels(torch.from_numpy(evidence.samples))
        with seeded(evidence.seed):
            net = self._fit(standardised(evidence.auxiliary), pictures, evidence.spec)
        with torch.inference_mode():
            parts = torch.split(standardised(evidence.observed), 500)
            drawn = torch.cat([from_pixels(net(part)) for part in parts])
        return cast(NDArray[np.float32], drawn.contiguous().numpy())

    def _fit(self, releases: Tensor, pictures: Tensor, spec: SampleSpec) -> nn.Module:
        """Fit G; return it as of the best epoch, in eval mode."""
        import torch

        from leakrange.jobs.recipe import Schedule
        from leakrange.nets.reconstructor import AboutMean
        from leakrange.providers.loop import EpochSelection, FittedNet, Lessons, Trainer
        from leakrange.providers.reconstruction_loss import reconstruction_loss

        chosen, weights, epochs = self.parameters.decoder, self.parameters.loss, self.parameters.epochs
        held, learning = torch.randperm(len(releases)).tensor_split([len(releases) // HELD])
        batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, len(learning) // STEPS))
        drawing = reconstructors[chosen.name].build(spec, releases.shape[1], chosen.width)
        net = AboutMean(drawing, pictures[learning].mean(dim=0))

        def loss(drawn: Tensor, samples: Tensor) -> Tensor:
            return reconstruction_loss(drawn, samples, weights)

        def held_out_loss() -> float:
            net.eval()
            with torch.inference_mode():
                return float(loss(net(releases[held]), pictures[held]))

        kept: EpochSelection[dict[str, Tensor]] = EpochSelection()
        with net.blank():
            kept.offer(0, -held_out_loss(), lambda: copy.deepcopy(net.state_dict()))
        trainee = FittedNet(net, loss, Schedule(epochs=epochs, batch=batch, lr=self.parameters.lr))
        trainer = Trainer(trainee, Lessons(releases[learning], pictures[learning]), batch=batch)
        for epoch in range(1, epochs + 1):
            trainer.epoch()
            kept.offer(epoch, -held_out_loss(), lambda: copy.deepcopy(net.state_dict()))
            if epoch - kept.epoch >= PATIENCE:
                break
        net.load_state_dict(kept.state)
        return net.eval()


def _rows(releases: NDArray[np.float32], logarithms: bool) -> NDArray[np.float32]:
    """Releases (B, ...) flattened, with the logarithms of all values behind them where asked for."""
    rows = releases.reshape(len(releases), -1)
    if not logarithms:
        return rows
    return np.concatenate([rows, np.log(np.maximum(rows, LEAST))], axis=1)


def _check(evidence: Pairs) -> None:
    auxiliary, samples, observed = evidence.auxiliary, evidence.samples, evidence.observed
    if auxiliary.ndim < 2 or auxiliary.shape[1:] != observed.shape[1:]:
        raise InvalidInput(
            f"auxiliary releases {auxiliary.shape} and observed ones {observed.shape} do not match"
        )
    if len(samples) != len(auxiliary):
        raise InvalidInput(f"{len(samples)} samples for {len(auxiliary)} auxiliary releases")
    if len(auxiliary) < FEWEST:
        raise InvalidInput(f"{len(auxiliary)} auxiliary records; the attack needs at least {FEWEST}")
    if not (np.isfinite(auxiliary).all() and np.isfinite(observed).all()):
        raise InvalidInput("a release holds values that are not finite")
