"""A kind of attack that the range does not have: it restores the samples that users never sent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, Kind, ReleaseStore
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.data.spans import span_of
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import UserDecisions, measured
from tides.metric import Restored


class Seen(BaseModel):
    """Answers about samples of the attacker's own, and what users uploaded. ``users`` is for the judge."""

    own: Span
    answers: Chunks
    observed: Chunks
    users: list[Span]


@kinds.register("restoration")
class Restoration(Kind):
    name: ClassVar[str] = "restoration"
    leakage: ClassVar[str] = "unexplained"
    Evidence: ClassVar[type[BaseModel]] = Seen

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        if provider.service is not None:
            return "nobody uploads anything to it"
        return Target(attack, "sample", (), attack.Parameters.model_validate(given))

    def buys(
        self, target: Target, provider: Offer, knowledge: Knowledge, budget: int, available: int | None = None
    ) -> int | None:
        return budget if available is None else min(budget, available)

    def plan(self, cell: Cell) -> Needs | None:
        count = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget, cell.available())
        own = Span(data=cell.data, split="auxiliary", start=0, stop=count)
        return Needs(
            streams=cell.uploads(),
            probes={"own": cell.ask("auxiliary", own.stop)},
            asked={"own": own.model_dump(mode="json")},
        )

    def infer(
        self, attack: Any, evidence: Seen, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        samples = _samples(evidence.own)
        answers = releases(evidence.answers)[: len(samples)]
        restored = attack.restore(answers, samples, releases(evidence.observed))
        return {"restored": restored, "truth": np.concatenate([_samples(span) for span in evidence.users])}

    def fits(self, trial: Trial) -> dict[str, Fit]:
        own, answers = Span.model_validate(trial.needs.asked["own"]), trial.answered("own")
        return {ATTACK: Fit(Seen(own=own, answers=answers, observed=trial.observed, users=trial.users))}

    def judge(self, trial: Trial) -> Judged:
        found = trial.fitted().arrays
        served = UserDecisions(trial.uploaded.decisions, trial.uploaded.truth(trial.model.target))
        return Judged(
            metrics=measured(served, Restored(found["restored"], found["truth"])),
            views={"waves": {"restored": _first(found["restored"]), "truth": _first(found["truth"])}},
            victims=len(found["truth"]),
            spent=trial.needs.asked["own"]["stop"],
        )


def _first(samples: NDArray[np.float32]) -> list[float]:
    """The first buoy of the first user, for the view "waves"."""
    return [float(height) for height in samples[0, :, 0]]


def _samples(span: Span) -> NDArray[Any]:
    data, chosen = span_of(span)
    return data.values[chosen]
