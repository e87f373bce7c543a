"""Attacks on an attribute of people whom a teacher never saw, from the answers of a student service."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks.attack import Attack, Evidence, Inference, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import affordable
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, Kind, Releases
from leakrange.attacks.kinds.people import asked_by_users, served_right
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.data import load
from leakrange.data.crowd import CAST, part_sizes
from leakrange.jobs.job import FitJob
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics import Estimate, Guesses, Ranking, measured
from leakrange.metrics.views import viewed
from leakrange.wire.errors import InvalidInput, LeakrangeError

__all__ = ["AttributeAsked", "PeopleAttributeKind"]


class AttributeAsked(BaseModel):
    """Answers about the first ``known`` pictures of the public, whose ``sensitive`` attribute the attacker
    knows, and about the whole pool, for which the attacker infers it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: DataSpec
    sensitive: str
    known: Annotated[int, Field(ge=1)]
    auxiliary: Annotated[Chunks, Field(min_length=1)]
    answers: Annotated[Chunks, Field(min_length=1)]


@kinds.register("people-attribute")
class PeopleAttributeKind(Kind):
    """The attacker queries pictures of the public, whose attribute it knows, and of the pool. Only people of
    the pool whom the teacher was not trained on count."""

    name: ClassVar[str] = "people-attribute"
    leakage: ClassVar[str] = "auc"
    Evidence: ClassVar[type[BaseModel]] = AttributeAsked

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """An attribute of the people. Those that describe their roles in the crowd are excluded."""
        if provider.service is None or provider.data.crowd is None:
            return "it is no service that is asked about people: it has no 'service'"
        sensitive = given.get("sensitive", provider.sensitive)
        if sensitive is None:
            return "neither the attack nor the provider names a 'sensitive' attribute"
        parameters = attack.Parameters.model_validate({**given, "sensitive": sensitive})
        if sensitive not in provider.attributes:
            return f"its data has no attribute {sensitive!r}"
        classes = provider.attributes[sensitive].classes
        if sensitive in CAST or sensitive == provider.target or len(classes) != 2:
            return f"{sensitive!r} is no attribute of two classes that people have by themselves"
        return Target(attack, str(sensitive), classes, parameters)

    def buys(
        self,
        target: Target,
        provider: Offer,
        knowledge: Knowledge,
        budget: int,
        available: int | None = None,  # noqa: ARG002
    ) -> int | None:
        """The number of pictures of the public that the budget covers besides the whole pool."""
        assert provider.data.crowd is not None  # else it has no target
        sizes = part_sizes(provider.data.crowd)
        left = budget // target.answers(knowledge) - sizes["pool"]
        return affordable(target, left, sizes["public"]) if left > 0 else None

    def plan(self, cell: Cell) -> Needs | None:
        """An attacker who does not know the policy has learnt from answers without it. A service has no
        devices."""
        count = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget)
        if count is None or cell.changes_devices:
            return None
        assert cell.provider.data.crowd is not None
        pool = part_sizes(cell.provider.data.crowd)["pool"]
        return Needs(
            probes={
                "auxiliary": cell.ask("public", count, undefended=cell.knowledge == "unaware"),
                "answers": cell.ask("pool", pool),
                "users": cell.ask(*asked_by_users(cell.provider), by="users"),
            },
            asked={"count": count},
        )

    def infer(
        self, attack: Any, evidence: AttributeAsked, job: FitJob, releases: Releases
    ) -> dict[str, NDArray[Any]]:
        """``predicted`` int64 (V,) and ``scores`` float32 (V, 2) for the pictures of the pool. ``truth``
        int64 (V,), -1 where unknown, is added for the judge; the attack does not see it."""
        data = load(evidence.data)
        labels, person = data.labels[evidence.sensitive], data.labels["person"]
        public, pool = data.where("public")[: evidence.known], data.where("pool")
        auxiliary = releases(evidence.auxiliary)[: evidence.known]
        observed = releases(evidence.answers)[: len(pool)]
        if len(auxiliary) != len(public) or len(observed) != len(pool):
            raise InvalidInput(
                f"{len(auxiliary)} and {len(observed)} answers about {len(public)} and {len(pool)} pictures"
            )
        known = labels[public] >= 0
        found: Inference = attack.infer(
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
        return {"predicted": found.predicted, "scores": found.scores, "truth": labels[pool]}

    async def judge(self, trial: Trial) -> Judged:
        """Compares the guesses with the labels of those people whom the teacher never saw."""
        data, count = trial.model.recipe.data, int(trial.needs.asked["count"])
        found = await trial.fitted(
            AttributeAsked(
                data=data,
                sensitive=trial.hidden,
                known=count,
                auxiliary=trial.answered("auxiliary"),
                answers=trial.answered("answers"),
            )
        )
        assert data.crowd is not None
        truth = found.arrays["truth"]
        judged = np.flatnonzero(~trial.members(len(truth)) & (truth >= 0))
        if len(judged) == 0:
            raise LeakrangeError(f"nobody's {trial.hidden!r} is known: there is nothing to judge by")
        guesses = Guesses(found.arrays["predicted"][judged], truth[judged], trial.classes)
        person = _whole(judged % data.crowd.asked, truth[judged])
        ranking = Ranking(found.arrays["scores"][judged], truth[judged], person)
        utility = {"honesty": Estimate(value=served_right(trial.model, trial.answers("users")))}
        draws = len(trial.needs.probes["answers"])
        return Judged(
            metrics=utility | measured(guesses, ranking),
            views=viewed(guesses, ranking),
            victims=len(judged),
            spent=draws * (count + len(truth)),
        )


def _whole(person: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The person (V,) of each picture, where the attribute is the same in all pictures of a person; None
    where it can differ between pictures."""
    of_each = np.unique(np.stack([person, truth]), axis=1)[0]
    return person if len(np.unique(of_each)) == len(of_each) else None
