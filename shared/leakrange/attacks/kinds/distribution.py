"""Attacks on the composition of a training set: which of two shares of it had an attribute."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.distribution import ShareEvidence
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.defended import Defended
from leakrange.attacks.kinds.kind import Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Shown, Trial
from leakrange.attacks.kinds.users import decisions_of
from leakrange.data import POPULATION
from leakrange.data.spans import samples_of, span_of
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Guesses, Ranking, measured
from leakrange.metrics.distribution import ServedModel, SharesEstimated, SharesTold
from leakrange.metrics.views import viewed
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["DistributionKind", "ShareQuestion"]


class ShareQuestion(Strict):
    """The ``answers`` about the attacker's own ``records``, whose class of ``target`` and attribute it knows.

    ``shadows`` and ``stand_ins`` are identities of stored releases for the same records, for each of
    ``shares`` those of the models with that share: the attacker's own, and further ones that are asked in its
    stead. The defence ``known`` to the attacker is applied to its own, the ``policy`` of the API to the
    others, each ``draws`` times.
    """

    records: Span
    answers: SomeChunks
    target: str
    shares: list[float]
    shadows: list[list[str]]
    stand_ins: list[list[str]]
    known: list[Any] = []
    policy: list[Any] = []
    draws: Annotated[int, Field(ge=1)] = 1


class _AskedOf(Strict):
    """The records whose answers are read, and for how many all models are shown; the defences as for
    `ShareQuestion`."""

    records: Span
    shown: Span
    known: list[Any] = []
    policy: list[Any] = []


@kinds.register("distribution")
class DistributionKind(Kind):
    """The attacker asks about records of its own, and trains models on others of its own. It is judged by
    models that stand in for the provider's: one model would tell little of an attack."""

    name: ClassVar[str] = "distribution"
    leakage: ClassVar[str] = "auc"
    asks = None
    wants_values: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = ShareQuestion

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The share of the training samples that have the class of the data's composition."""
        if reason := provider.no_uploads:
            return reason
        composition = provider.data.composition
        if composition is None:
            return "its data has no 'composition', so no share of its training samples is asked after"
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and the attack reads its accuracy on one"
        parameters: Any = attack.Parameters.model_validate(given)
        classes = tuple(f"{share * 100:g} %" for share in (parameters.shares[0], parameters.shares[-1]))
        return Target(attack, f"{' or '.join(classes)} {composition.having}", classes, parameters)

    def buys(
        self, target: Target, provider: Offer, knowledge: Knowledge, budget: int, available: int | None = None
    ) -> int | None:
        """The number of records: half of the auxiliary ones are for training."""
        half = None if available is None else available // 2
        return super().buys(target, provider, knowledge, budget, half)

    def plan(self, cell: Cell) -> Needs | None:
        """All attackers get the same answers, and all attacks of one seed the same models."""
        available, most = cell.available(POPULATION), cell.target.parameters.auxiliary
        count = cell.target.affordable(cell.budget // cell.target.answers(cell.knowledge), available)
        if count is None:
            return None
        most = most if available is None else min(most, available)
        shown = Span(data=cell.data, split=POPULATION, start=0, stop=most)
        asked = _AskedOf(
            records=shown.model_copy(update={"stop": count}),
            shown=shown,
            known=[] if cell.knowledge == "unaware" else cell.policy,
            policy=cell.policy,
        )
        return Needs(
            streams=cell.uploads(),  # only for the honesty of the decisions: one draw is enough
            probes={"records": cell.ask(POPULATION, count)},
            shadows=[*_models(cell, stand_in=False), *_models(cell, stand_in=True)],
            shows=[shown],
            asked=asked.model_dump(mode="json"),
        )

    def infer(
        self, attack: Any, evidence: ShareQuestion, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (1 + J,) of the model that was asked and its J stand-ins, and ``estimates``
        alike, of an attack that makes them."""
        data, rows = span_of(evidence.records)
        asked = evidence.records.data.composition
        if asked is None:
            raise InvalidInput("the records are of data without a composition")
        labels, attribute = data.labels[evidence.target][rows], data.labels[asked.attribute][rows]
        judged = (labels >= 0) & (attribute >= 0)
        answers = releases(evidence.answers)[: len(rows)]
        samples = samples_of(evidence.records)

        def of_models(by_share: list[list[str]], defence: list[Any], first: int) -> NDArray[np.float32]:
            defended = Defended(job, samples, defence, evidence.draws)
            stacked = np.empty((sum(map(len, by_share)), *answers.shape), dtype=np.float32)
            for number, name in enumerate(chain.from_iterable(by_share)):
                plain = releases([[name]])[: len(rows)]
                if plain.shape != answers.shape:
                    raise InvalidInput(f"a model's releases are {plain.shape}, the target's {answers.shape}")
                stacked[number] = defended(plain, first + number)
            return stacked

        shadows = of_models(evidence.shadows, evidence.known, 0)
        stand_ins = of_models(evidence.stand_ins, evidence.policy, len(shadows))
        question = ShareEvidence(
            observed=np.concatenate([answers[np.newaxis], stand_ins])[:, judged],
            labels=labels[judged],
            having=attribute[judged] == data.attributes[asked.attribute].classes.index(asked.having),
            shadows=shadows[:, judged],
            place=np.repeat(np.arange(len(evidence.shares)), [len(each) for each in evidence.shadows]),
            shares=tuple(evidence.shares),
            release=job.release,
        )
        arrays = {"scores": attack.score(question), "estimates": attack.estimate(question)}
        return {name: values.astype(np.float32) for name, values in arrays.items() if values is not None}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on the model that was asked and on its stand-ins."""
        asked, shares = _AskedOf.model_validate(trial.needs.asked), trial.parameters["shares"]
        assert isinstance(trial.model.target, str)  # else it has no target
        own = trial.parameters.get("shadows", 0) * len(shares)
        shown = trial.shown(asked.shown)
        question = ShareQuestion(
            records=asked.records,
            answers=trial.answered("records"),
            target=trial.model.target,
            shares=shares,
            shadows=_by_share(shown[:own], len(shares)),
            stand_ins=_by_share(shown[own:], len(shares)),
            known=asked.known,
            policy=asked.policy,
            draws=len(trial.needs.probes["records"]),
        )
        return {ATTACK: Fit(question)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the scores of stand-ins of the first and the last share, and of the model that was asked
        where it is of one of the two."""
        arrays, shares = trial.fitted().arrays, trial.parameters["shares"]
        scores, estimates = arrays["scores"], arrays.get("estimates")
        place = np.repeat(np.arange(len(shares)), trial.parameters["stand_ins"])
        composition = trial.model.recipe.data.composition
        true = None if composition is None else composition.share
        ends = (shares[0], shares[-1])
        of_served = ends.index(true) if true in ends and ends[0] < ends[1] else None
        end = np.where(place == 0, 0, np.where(place == len(shares) - 1, 1, -1))  # -1: a share between them
        told = np.concatenate([[-1 if of_served is None else of_served], end])
        truth = told[told >= 0]
        ranking = Ranking(scores[told >= 0], truth)
        guesses = Guesses((ranking.scores > 0).astype(int), truth, 2)
        outcomes: list[object] = [
            guesses,
            ranking,
            SharesTold(guesses.predicted == truth, *ends),
            _of_served(scores, estimates, np.asarray(shares)[place] == true, of_served),
        ]
        if estimates is not None:
            outcomes.append(SharesEstimated(estimates[1:], np.asarray(shares)[place]))
        records = _AskedOf.model_validate(trial.needs.asked).records
        return Judged(
            metrics=measured(decisions_of(trial, trial.uploaded), *outcomes),
            views=viewed(guesses, ranking),
            victims=len(truth),
            spent=len(trial.needs.probes["records"]) * records.stop,
        )


def _of_served(
    scores: NDArray[np.floating],
    estimates: NDArray[np.floating] | None,
    alike: NDArray[np.bool_],
    place: int | None,
) -> ServedModel:
    """What is told of the model asked, whose share is at that ``place``, if at any; ``alike`` (J,) are the
    stand-ins of its own share."""
    rank = None
    if alike.any():
        of_like = scores[1:][alike]
        rank = float(((of_like < scores[0]) + 0.5 * (of_like == scores[0])).mean())
    return ServedModel(
        right=None if place is None else bool((scores[0] > 0) == (place > 0)),
        estimated=None if estimates is None else float(estimates[0]),
        rank=rank,
    )


def _models(cell: Cell, *, stand_in: bool) -> list[str]:
    """The ids of the attacker's own models, or of the provider's stand-ins, share by share. Of equal shares,
    as for a control, each has models of its own."""
    parameters = cell.target.parameters
    count, models = parameters.stand_ins if stand_in else getattr(parameters, "shadows", 0), []
    for place, share in enumerate(parameters.shares):
        first = count * parameters.shares[:place].count(share)
        models += [cell.composed(first + number, share, stand_in=stand_in) for number in range(count)]
    return models


def _by_share(shown: list[Shown], shares: int) -> list[list[str]]:
    each = len(shown) // shares
    return [[one.releases for one in shown[each * place : each * (place + 1)]] for place in range(shares)]
