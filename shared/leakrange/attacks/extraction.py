"""Copying a model from its answers alone."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator

from leakrange.attacks import attacks
from leakrange.attacks.attack import Ask, Knowledge, Pairs, Walk, WalkingAttack, check_lengths
from leakrange.attacks.learning import check_releases, flat
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import Schedule
from leakrange.jobs.versions import VersionChange
from leakrange.metrics.entropy import softmax
from leakrange.strict import Strict
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["CHOICES", "CopyPairs", "CopyParameters", "Extraction", "copied_net", "log_odds_by_algebra"]

FEWEST = 50
HELD = 5
"""One answer in so many is held out, to choose between copies."""
LEAST = 1e-30
"""Probabilities are held above this where their logarithm is taken."""
ROUNDS = 5


class CopyParameters(Strict):
    """How often an averaging attacker repeats a query, and the copy: its net and training. The net is one for
    samples of that encoding unless it is named."""

    repeats: Annotated[int, Field(ge=2, le=1000)] = 8
    net: NetChoice = NetChoice()
    epochs: Annotated[int, Field(ge=1, le=1000)] = 30
    batch: Annotated[int, Field(ge=8, le=4096)] = 50
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3


@dataclass(frozen=True, kw_only=True)
class CopyPairs(Pairs):
    """`Pairs` whose ``auxiliary`` answers are "logits" or "softmax", as ``release`` says. ``observed`` are
    samples (V, *shape) that the copy is asked about."""

    release: str


Queries = Literal["natural", "public", "drawn", "uncertainty", "k-centre"]


class ExtractionParameters(CopyParameters):
    """The most samples that it asks about, and where these ``queries`` come from: "natural" are records of
    the attacker's own, and "public" the training samples of another data set, of the name ``public``. "drawn"
    are random. By "uncertainty" or "k-centre" it chooses from its own records, in so many ``rounds``."""

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 5000
    queries: Annotated[Queries, Field(exclude_if=lambda queries: queries == "natural")] = "natural"
    public: Annotated[str | None, Field(exclude_if=operator.not_)] = None
    rounds: Annotated[int, Field(ge=2, le=50, exclude_if=lambda rounds: rounds == ROUNDS)] = ROUNDS

    @property
    def chooses(self) -> bool:
        """Whether it chooses what it asks by earlier answers."""
        return self.queries in CHOICES

    @model_validator(mode="after")
    def _named_where_public(self) -> Self:
        if (self.queries == "public") != (self.public is not None):
            raise ValueError("'public' names the data set of queries that are public: give both or neither")
        return self


@attacks.register("extraction")
class Extraction(WalkingAttack):
    """Two copies are made from answers about records of the attacker's own: a net that learns the answers,
    and a linear model by algebra, which is exact where the original is linear. The one that agrees more with
    answers that neither has seen is kept."""

    name: ClassVar[str] = "extraction"
    version: ClassVar[int] = 2
    changes: ClassVar[Mapping[int, VersionChange]] = {
        2: VersionChange(
            "it weighs answers by what their digits tell, where it solves equations",
            {"release": ("softmax", None)},
        )
    }
    summary: ClassVar[str] = "copies the model from its answers: by a net, or by algebra where it is linear"
    paper: ClassVar[str] = "Tramèr et al. 2016; Orekondy et al. 2019; Pal et al. 2020"
    equation: ClassVar[str] = (
        "Section 4.1 (equation solving); Section 3 (a net of the attacker's own); Section 4 (rounds)"
    )
    kind: ClassVar[str] = "extraction"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    grants: ClassVar[tuple[str, ...]] = ("queries", "unlabelled records of its own, unless they are drawn")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "averaging")
    arrays: ClassVar[type[Any] | None] = CopyPairs
    Parameters: ClassVar[type[BaseModel]] = ExtractionParameters

    def on_arrays(self, evidence: Any) -> Any:
        """See `copy`."""
        return self.copy(evidence, evidence.release)

    def copy(self, evidence: Pairs, release: str) -> NDArray[np.float64]:
        """The scores (V, Y) that the copy gives to samples ``evidence.observed`` (V, *shape). Raises
        `InvalidInput` for answers that it cannot learn from."""
        from leakrange.providers.inference import outputs

        samples, answers, asked = evidence.samples, evidence.auxiliary, evidence.observed
        check_releases(answers, answers, FEWEST)
        check_lengths(samples=samples, auxiliary=answers)
        order = shuffled(stream(evidence.seed, "extraction"), len(samples))
        held, learnt = order[: len(order) // HELD], order[len(order) // HELD :]
        classes = answers[held].argmax(axis=1)
        both = np.concatenate([samples[held], asked])
        net = copied_net(
            samples[learnt], answers[learnt], release, evidence.spec, self.parameters, evidence.seed
        )
        copies = [outputs(net, both, "logits").astype(np.float64)]
        if len(learnt) > np.prod(samples.shape[1:]) + 1:
            copies.append(log_odds_by_algebra(flat(samples[learnt]), answers[learnt], flat(both), release))

        def agreed(place: int) -> tuple[float, int]:  # of equal copies the algebra's, which may be exact
            return float((copies[place][: len(held)].argmax(axis=1) == classes).mean()), place

        return copies[max(range(len(copies)), key=agreed)][len(held) :]

    def walk(self, start: Walk, ask: Ask) -> dict[str, NDArray[Any]]:
        """Ask about ``start.queries`` of the samples in rounds: in the first about random ones, later about
        those that `CHOICES` prefer by a copy of what was answered so far. Returns the places that were
        ``chosen`` (M,), in order, the ``answers`` (M, Y), and how often each sample was ``asked`` about."""
        pool, count = start.samples, min(start.queries, len(start.samples))
        rounds = [len(share) for share in np.array_split(np.arange(count), self.parameters.rounds)]
        chosen = shuffled(stream(start.seed, "first queries"), len(pool))[: rounds[0]]
        answers = ask(pool[chosen])
        for size in rounds[1:]:
            copy = copied_net(pool[chosen], answers, start.release, start.spec, self.parameters, start.seed)
            guessed = _probabilities(copy, pool)
            more = CHOICES[self.parameters.queries](guessed, chosen, size)
            chosen = np.concatenate([chosen, more])
            answers = np.concatenate([answers, ask(pool[more])])
        return {"chosen": chosen, "answers": answers, "asked": np.bincount(chosen, minlength=len(pool))}


def copied_net(
    samples: NDArray[np.generic],
    answers: NDArray[np.floating],
    release: str,
    spec: SampleSpec,
    parameters: CopyParameters,
    seed: int,
) -> Classifier:
    """A net that has learnt the ``answers`` (N, Y) about ``samples`` (N, *shape) of ``spec``. Raises
    `InvalidInput` as `leakrange.providers.distillation.distil` does."""
    from leakrange.providers.distillation import distil

    return distil(
        samples,
        softmax(answers) if release == "logits" else answers,
        spec=spec,
        net=parameters.net.of(spec),
        schedule=Schedule(epochs=parameters.epochs, batch=parameters.batch, lr=parameters.lr),
        seed=seed,
    )


def _probabilities(copy: Classifier, samples: NDArray[np.generic]) -> NDArray[np.float64]:
    from leakrange.providers.inference import outputs

    return softmax(outputs(copy, samples, "logits").astype(np.float64))


def _uncertain(guessed: NDArray[np.float64], chosen: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The ``count`` places outside ``chosen`` where the copy's probabilities (N, Y) have most entropy."""
    entropy = -(guessed * np.log(np.maximum(guessed, LEAST))).sum(axis=1)
    entropy[chosen] = -np.inf
    return np.argsort(-entropy, kind="stable")[:count]


def _far_apart(guessed: NDArray[np.float64], chosen: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The ``count`` places that are, one after the other, farthest from all before in the copy's
    probabilities (N, Y): greedy k-centre (Sener and Savarese 2018, Algorithm 1)."""
    nearest = np.full(len(guessed), np.inf)
    centres = list(chosen)
    for number in range(len(chosen) + count):
        if number == len(centres):
            centres.append(int(nearest.argmax()))
        centre = centres[number]
        nearest = np.minimum(nearest, ((guessed - guessed[centre]) ** 2).sum(axis=1))
        nearest[centre] = -1.0
    return np.array(centres[len(chosen) :], np.int64)


Choose = Callable[[NDArray[np.float64], NDArray[np.int64], int], NDArray[np.int64]]
CHOICES: Mapping[str, Choose] = {"uncertainty": _uncertain, "k-centre": _far_apart}
"""How further queries are chosen: from the copy's probabilities for all samples (N, Y), the places asked
about before, and the number of the new ones."""


def log_odds_by_algebra(
    samples: NDArray[np.floating], answers: NDArray[np.floating], asked: NDArray[np.floating], release: str
) -> NDArray[np.float64]:
    """Log odds (V, Y) against the last class for ``asked`` (V, D), by the linear model that fits the
    ``answers`` (N, Y) about ``samples`` (N, D) best. D + 1 samples in general position give the weights of a
    linear or logistic model exactly (Tramèr et al. 2016, Section 4.1).

    Of probabilities p and q the odds count in proportion to 1 / (1/p + 1/q): the digits of a small one, which
    may be rounded, tell least of its logarithm. A zero is taken for half the smallest of all others.
    """
    odds = np.asarray(answers, np.float64)
    weights = np.ones_like(odds)
    if release == "softmax":
        held = np.maximum(odds, np.min(odds, where=odds > 0.0, initial=1.0) / 2)
        weights, odds = 1.0 / (1.0 / held + 1.0 / held[:, -1:]), np.log(held)
    odds = odds - odds[:, -1:]
    known, wanted = (
        np.column_stack([np.asarray(each, np.float64), np.ones(len(each))]) for each in (samples, asked)
    )
    fitted = [
        np.linalg.lstsq(known * weight[:, None], of_class * weight, rcond=None)[0]
        for weight, of_class in zip(weights.T, odds.T, strict=True)
    ]
    return np.asarray(wanted @ np.stack(fitted, axis=1))
