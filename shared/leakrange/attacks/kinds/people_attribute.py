"""Attacks on an attribute of people whom a teacher never saw, from the answers of a student service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Evidence, Inference, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.served import ask_as_users, crowd_of, served_crowd, utility
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.people.questions import learnt_from
from leakrange.data import load, names
from leakrange.data.crowd import CAST, part_sizes
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Guesses, Ranking, measured
from leakrange.metrics.controls import BesideImputation
from leakrange.metrics.views import viewed
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, LeakrangeError

__all__ = ["AttributeAsked", "PeopleAttributeKind"]


class AttributeAsked(Strict):
    """Answers about the first ``known`` pictures of the public, whose ``sensitive`` attribute the attacker
    knows, and about the first ``targets`` pictures of the pool, for which the attacker infers it.

    A verification answers with the distances of each picture to those of ``references`` people of the public,
    whose other pictures are not queried; other services have no references. Only pictures with the classes of
    ``among`` are judged.
    """

    data: DataSpec
    sensitive: str
    known: Annotated[int, Field(ge=1)]
    targets: Annotated[int, Field(ge=1)]
    references: Annotated[int, Field(ge=0)] = 0
    among: dict[str, str] = {}
    auxiliary: SomeChunks
    answers: SomeChunks


@kinds.register("people-attribute")
class PeopleAttributeKind(Kind):
    """The attacker queries pictures of the public, whose attribute it knows, and of the pool. It is judged on
    those people of the pool whom the teacher was not trained on."""

    name: ClassVar[str] = "people-attribute"
    leakage: ClassVar[str] = "auc"
    Evidence: ClassVar[type[BaseModel]] = AttributeAsked

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """An attribute of the people. Those that describe their roles in the crowd are excluded."""
        crowd = served_crowd(provider)
        if isinstance(crowd, str):
            return crowd
        sensitive = given.get("sensitive", provider.sensitive)
        if sensitive is None:
            return "neither the attack nor the provider names a 'sensitive' attribute"
        parameters = attack.Parameters.model_validate({**given, "sensitive": sensitive})
        if sensitive not in provider.attributes:
            return f"its data has no attribute {sensitive!r}"
        classes = provider.attributes[sensitive].classes
        if sensitive in CAST or sensitive in names(provider.target) or len(classes) != 2:
            return f"{sensitive!r} is no attribute of two classes that people have by themselves"
        target = Target(attack, str(sensitive), classes, parameters)
        for name, wanted in target.parameters.among.items():
            if name not in provider.attributes or wanted not in provider.attributes[name].classes:
                return f"its data has no attribute {name!r} with a class {wanted!r}"
        references = _references(target, provider)
        if references >= crowd.public:
            return f"{references} references of {crowd.public} public people leave nobody to learn from"
        return target

    def buys(
        self,
        target: Target,
        provider: Offer,
        knowledge: Knowledge,
        budget: int,
        available: int | None = None,  # noqa: ARG002
    ) -> int | None:
        """The number of pictures of the public that the budget covers besides the targets."""
        crowd, references = crowd_of(provider.data), _references(target, provider)
        pictures = budget // target.answers(knowledge) // max(references, 1)
        left = pictures - _targets(target, crowd)
        return target.affordable(left, len(learnt_from(crowd, references))) if left > 0 else None

    def plan(self, cell: Cell) -> Needs | None:
        """An attacker who does not know the policy learns from answers without it. Defences on devices are
        not planned: a service has none."""
        known = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget)
        if known is None or cell.changes_devices:
            return None
        references = _references(cell.target, cell.provider)
        targets, each = _targets(cell.target, crowd_of(cell.provider.data)), max(references, 1)
        unaware = cell.knowledge == "unaware"
        return Needs(
            probes={
                "auxiliary": cell.ask("public", known * each, undefended=unaware, references=references),
                "answers": cell.ask("pool", targets * each, references=references),
                "users": ask_as_users(cell),
            },
            asked={"known": known, "targets": targets, "references": references},
        )

    def infer(
        self, attack: Any, evidence: AttributeAsked, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``predicted`` int64 (V,) and ``scores`` float32 (V, 2) for the targets. ``truth`` int64 (V,), -1
        where unknown or not to be judged, is added for the judge; the attack does not see it."""
        data = load(evidence.data)
        labels, person = data.labels[evidence.sensitive], data.labels["person"]
        open_to_all = data.where("public")[learnt_from(crowd_of(evidence.data), evidence.references)]
        public, pool = open_to_all[: evidence.known], data.where("pool")[: evidence.targets]
        auxiliary = _by_picture(releases(evidence.auxiliary), len(public), evidence.references)
        observed = _by_picture(releases(evidence.answers), len(pool), evidence.references)
        if len(public) != evidence.known or len(pool) != evidence.targets:
            raise InvalidInput(
                f"the public and the pool have {len(public)} and {len(pool)} pictures, not {evidence.known} "
                f"and {evidence.targets}"
            )
        known = labels[public] >= 0
        inference: Inference = attack.infer(
            Evidence(
                auxiliary=auxiliary[known],
                auxiliary_labels=labels[public][known],
                observed=observed,
                classes=len(data.attributes[evidence.sensitive].classes),
                release=job.release,
                seed=job.seed,
                auxiliary_group=person[public][known],
            )
        )
        judged = np.ones(len(pool), dtype=bool)
        for name, wanted in evidence.among.items():
            judged &= data.labels[name][pool] == data.attributes[name].classes.index(wanted)
        truth = np.where(judged, labels[pool], -1)
        return {"predicted": inference.predicted, "scores": inference.scores, "truth": truth}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on the answers about the public and about the pool."""
        asked = AttributeAsked(
            data=trial.model.recipe.data,
            sensitive=trial.hidden,
            among=trial.parameters["among"],
            auxiliary=trial.answered("auxiliary"),
            answers=trial.answered("answers"),
            **trial.needs.asked,
        )
        return {ATTACK: Fit(asked)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the guesses with the labels of those people whom the teacher never saw."""
        fitted, asked = trial.fitted(), trial.needs.asked
        crowd, truth = crowd_of(trial.model.recipe.data), fitted.arrays["truth"]
        member = trial.members(part_sizes(crowd)["pool"])[: asked["targets"]]
        judged = np.flatnonzero(~member & (truth >= 0))
        if len(judged) == 0:
            raise LeakrangeError(f"nobody's {trial.hidden!r} is known: there is nothing to judge by")
        person = judged % crowd.asked
        guesses = Guesses(fitted.arrays["predicted"][judged], truth[judged], trial.classes, person)
        ranking = Ranking(fitted.arrays["scores"][judged], truth[judged], person)
        nothing = Ranking(np.zeros(len(judged)), truth[judged])  # is known of anybody without the service
        draws = len(trial.needs.probes["answers"])
        return Judged(
            metrics=utility(trial) | measured(guesses, ranking, BesideImputation(ranking, nothing)),
            views=viewed(guesses, ranking),
            victims=len(judged),
            spent=draws * max(asked["references"], 1) * (asked["known"] + asked["targets"]),
        )


def _references(target: Target, provider: Offer) -> int:
    """The number of people with whom each picture is compared; 0 where answers are about one picture."""
    return int(target.parameters.references) if provider.release == "score" else 0


def _targets(target: Target, crowd: Crowd) -> int:
    pool = part_sizes(crowd)["pool"]
    return min(target.parameters.targets or pool, pool)


def _by_picture(answers: NDArray[np.float32], pictures: int, references: int) -> NDArray[np.float32]:
    """The answers (pictures, N) about each picture; distances to all references side by side."""
    wanted = pictures * max(references, 1)
    if len(answers) < wanted:
        raise InvalidInput(f"{len(answers)} answers about {pictures} pictures, which take {wanted}")
    return answers[:wanted].reshape(pictures, -1)
