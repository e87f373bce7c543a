"""Copying a model from its answers alone."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge, Pairs
from leakrange.attacks.learning import check_releases, flat
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import Schedule
from leakrange.metrics.entropy import softmax
from leakrange.strict import Strict

__all__ = ["Extraction", "log_odds_by_algebra"]

FEWEST = 50
HELD = 5
"""One answer in so many is held out, to choose between copies."""
LEAST = 1e-30
"""Probabilities are held above this where their logarithm is taken."""


class ExtractionParameters(Strict):
    """The most of the attacker's own records that it asks about, how often an averaging attacker repeats a
    query, and the copy: its net and training. The net is one for samples of that encoding unless it is
    named."""

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 5000
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    net: NetChoice = NetChoice()
    epochs: Annotated[int, Field(ge=1, le=1000)] = 30
    batch: Annotated[int, Field(ge=8, le=4096)] = 50
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3


@attacks.register("extraction")
class Extraction(Attack):
    """Two copies are made from answers about records of the attacker's own: a net that learns the answers,
    and a linear model by algebra, which is exact where the original is linear. The one that agrees more with
    answers that neither has seen is kept."""

    name: ClassVar[str] = "extraction"
    summary: ClassVar[str] = "copies the model from its answers: by a net, or by algebra where it is linear"
    paper: ClassVar[str] = "Tramèr et al. 2016; Orekondy et al. 2019"
    equation: ClassVar[str] = "Section 4.1 (equation solving); Section 3 (a net of the attacker's own)"
    kind: ClassVar[str] = "extraction"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    grants: ClassVar[tuple[str, ...]] = ("queries", "unlabelled records of its own")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "averaging")
    Parameters: ClassVar[type[BaseModel]] = ExtractionParameters

    def copy(self, evidence: Pairs, release: str) -> NDArray[np.float64]:
        """The scores (V, Y) that the copy gives to samples ``evidence.observed`` (V, *shape). Raises
        `InvalidInput` for answers that it cannot learn from."""
        samples, answers, asked = evidence.samples, evidence.auxiliary, evidence.observed
        check_releases(answers, answers, FEWEST)
        order = shuffled(stream(evidence.seed, "extraction"), len(samples))
        held, learnt = order[: len(order) // HELD], order[len(order) // HELD :]
        classes = answers[held].argmax(axis=1)
        both = np.concatenate([samples[held], asked])
        copies = [self._by_net(samples[learnt], answers[learnt], both, evidence, release)]
        if len(learnt) > np.prod(samples.shape[1:]) + 1:
            copies.append(log_odds_by_algebra(flat(samples[learnt]), answers[learnt], flat(both), release))

        def agreed(place: int) -> tuple[float, int]:  # of equal copies the algebra's, which may be exact
            return float((copies[place][: len(held)].argmax(axis=1) == classes).mean()), place

        return copies[max(range(len(copies)), key=agreed)][len(held) :]

    def _by_net(
        self,
        samples: NDArray[np.generic],
        answers: NDArray[np.float32],
        asked: NDArray[np.generic],
        evidence: Pairs,
        release: str,
    ) -> NDArray[np.float64]:
        from leakrange.providers.distillation import distil
        from leakrange.providers.inference import outputs

        given = self.parameters
        net = distil(
            samples,
            softmax(answers) if release == "logits" else answers,
            spec=evidence.spec,
            net=given.net.of(evidence.spec),
            schedule=Schedule(epochs=given.epochs, batch=given.batch, lr=given.lr),
            seed=evidence.seed,
        )
        return outputs(net, asked, "logits").astype(np.float64)


def log_odds_by_algebra(
    samples: NDArray[np.floating], answers: NDArray[np.floating], asked: NDArray[np.floating], release: str
) -> NDArray[np.float64]:
    """Log odds (V, Y) against the last class for ``asked`` (V, D), by the linear model that fits the
    ``answers`` (N, Y) about ``samples`` (N, D) best. D + 1 samples in general position give the weights of a
    linear or logistic model exactly (Tramèr et al. 2016, Section 4.1)."""
    logs = np.asarray(answers, np.float64)
    if release == "softmax":
        logs = np.log(np.maximum(logs, LEAST))
    logs = logs - logs[:, -1:]
    known, wanted = (
        np.column_stack([np.asarray(each, np.float64), np.ones(len(each))]) for each in (samples, asked)
    )
    return np.asarray(wanted @ np.linalg.lstsq(known, logs, rcond=None)[0])
