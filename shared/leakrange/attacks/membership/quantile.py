"""Membership by one regression: how sure a model is of records like this one that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import check_lengths
from leakrange.attacks.learning import EarlyStopping
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence, check, scaled_logit
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.versions import VersionChange
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.nets.classifier import Classifier

__all__ = ["Quantile"]

FEWEST = 50
HELD = 5
"""One population record in this many is held out, to choose the epoch."""
SMALLEST_BATCH, LARGEST_BATCH = 8, 64
STEPS = 20
"""The least number of steps of an epoch, even over few records (as far as the smallest batch allows)."""
PATIENCE = 15
NARROWEST = -4.0
"""The least log deviation, in deviations of all: a single record's surprise stays finite."""


class QuantileParameters(Strict):
    """The most records of the ``population`` that the target is also asked about, how often an averaging
    attacker repeats a query, and the regression: its net and training."""

    population: Annotated[int, Field(ge=FEWEST, le=100_000)] = 2000
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    net: NetChoice = NetChoice()
    epochs: Annotated[int, Field(ge=1, le=500)] = 100
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 3e-3


@attacks.register("quantile")
class Quantile(MembershipAttack):
    """A net learns from records that no model was trained on which φ the target gives to a sample and class:
    a normal distribution for each. The score of a record is by how many deviations the target is surer of it.

    It needs neither the target's architecture nor shadow models.
    """

    name: ClassVar[str] = "quantile"
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, VersionChange]] = {}
    summary: ClassVar[str] = "a regression of how sure the target is of samples that it was not trained on"
    paper: ClassVar[str] = "Bertran et al. 2023"
    equation: ClassVar[str] = "Section 3 (with a normal distribution of the score)"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "the records and their true classes",
        "population records",
    )
    needs: ClassVar[tuple[str, ...]] = (
        "samples",
        "population",
        "population_labels",
        "population_samples",
    )
    Parameters: ClassVar[type[BaseModel]] = QuantileParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """(φ − μ(x, y)) / σ(x, y), (N,). Raises `InvalidInput` for fewer population records than it can learn
        from, and for evidence without the samples."""
        check(evidence)
        labels, known = evidence.labels, evidence.population_labels
        if len(known) < FEWEST:
            raise InvalidInput(
                f"a population of {len(known)} records; the attack learns from {FEWEST} or more"
            )
        if evidence.samples is None or evidence.population_samples is None or evidence.spec is None:
            raise InvalidInput("the attack learns from the samples, and has only answers about them")
        check_lengths(labels=labels, samples=evidence.samples)
        check_lengths(population=evidence.population, population_samples=evidence.population_samples)
        observed = scaled_logit(evidence.observed[0], labels, evidence.release)
        lessons = scaled_logit(evidence.population, known, evidence.release)
        centre, unit = lessons.mean(), max(float(lessons.std()), 1e-6)
        classes = evidence.observed.shape[-1]
        net = self._fitted(evidence, (lessons - centre) / unit, classes)
        mean, log_deviation = _normal(net, evidence.samples, labels, classes)
        return np.asarray(((observed - centre) / unit - mean) / np.exp(log_deviation))

    def _fitted(self, evidence: MembershipEvidence, lessons: NDArray[np.float64], classes: int) -> Classifier:
        """The net of the epoch that is likeliest on the population records that are held out. It gives each
        class a mean and a log deviation of φ."""
        import torch

        from leakrange.nets import nets
        from leakrange.nets.classifier import to_input

        assert evidence.spec is not None
        assert evidence.population_samples is not None
        chosen = self.parameters.net.of(evidence.spec, "probe")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(evidence.seed)
            net = nets[chosen.name].build(evidence.spec, 2 * classes, chosen.width)
            inputs = to_input(torch.from_numpy(evidence.population_samples), evidence.spec)
            labels, goals = torch.from_numpy(evidence.population_labels), torch.from_numpy(lessons).float()
            order = torch.randperm(len(goals))
            held, learnt = order[: len(order) // HELD], order[len(order) // HELD :]
            size = min(max(len(learnt) // STEPS, SMALLEST_BATCH), LARGEST_BATCH)
            optimiser = torch.optim.Adam(net.parameters(), lr=self.parameters.lr, weight_decay=1e-4)

            def loss(chosen: Tensor) -> Tensor:
                return _surprise(net(inputs[chosen]), labels[chosen], goals[chosen], classes)

            def epoch() -> None:
                net.train()
                for batch in torch.split(learnt[torch.randperm(len(learnt))], size):
                    if len(batch) > 1:  # statistics of batches need two
                        optimiser.zero_grad()
                        loss(batch).backward()  # type: ignore[no-untyped-call]
                        optimiser.step()

            EarlyStopping(net, lambda: loss(held), PATIENCE).train(self.parameters.epochs, epoch)
        return net


def _surprise(outputs: Tensor, labels: Tensor, goals: Tensor, classes: int) -> Tensor:
    """Minus the mean log density of ``goals`` (B,) but for a constant, under the normal distributions that
    ``outputs`` (B, 2·classes) give to their classes ``labels`` (B,)."""
    mean, log_deviation = _of_class(outputs, labels, classes)
    return (log_deviation + ((goals - mean) / log_deviation.exp()) ** 2 / 2).mean()


def _of_class(outputs: Tensor, labels: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    mean, log_deviation = (
        outputs.view(len(outputs), 2, classes).gather(2, labels[:, None, None].expand(-1, 2, 1))[:, :, 0].T
    )
    return mean, log_deviation.clamp(NARROWEST, -NARROWEST)


def _normal(
    net: Classifier, samples: NDArray[np.generic], labels: NDArray[np.integer], classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the log deviation of φ (N,), by a net in eval mode."""
    import torch

    from leakrange.providers.inference import logits_of

    outputs = logits_of(net, torch.from_numpy(samples))
    mean, log_deviation = _of_class(outputs, torch.from_numpy(labels), classes)
    return mean.double().numpy(), log_deviation.double().numpy()
