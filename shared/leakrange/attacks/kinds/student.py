"""Distillation: the provider decodes the outputs of a user's own model that was trained on the provider's
answers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import AskedAbout, affordable, judge_guesses
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.decoder import decoded, what_is_decoded
from leakrange.attacks.kinds.kind import Chunks, Kind, Releases
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.data.spans import span_of
from leakrange.jobs.job import FitJob, Span
from leakrange.jobs.recipe import NetSpec, Schedule

__all__ = ["StudentKind"]


class StudentEvidence(BaseModel):
    """``answers`` about the samples of ``span``, whose labels are not read. ``teacher`` is the net that every
    user of the provider can download. ``victims`` are the samples that the student is applied to, in order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    teacher: NetSpec
    span: Span
    answers: Annotated[Chunks, Field(min_length=1)]
    victims: Annotated[list[Span], Field(min_length=1)]


@kinds.register("student")
class StudentKind(Kind):
    """The fleet plays the user: it queries the provider, trains the student, and uploads the student's
    outputs."""

    name: ClassVar[str] = "student"
    leakage: ClassVar[str] = "curiosity"
    Evidence: ClassVar[type[BaseModel]] = StudentEvidence

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The attribute that the teacher hides for its decoder."""
        return what_is_decoded(attack, given, provider)

    def buys(
        self,
        target: Target,
        provider: Offer,  # noqa: ARG002
        knowledge: Knowledge,
        budget: int,
        available: int | None = None,
    ) -> int | None:
        """The number of the user's own records that the provider answers."""
        return affordable(target, budget // target.answers(knowledge), available)

    def plan(self, cell: Cell) -> Needs | None:
        """None where devices defend or change the provider's model: the student is another model."""
        count = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget, cell.available)
        if count is None or cell.changes_devices or cell.devices_defend:
            return None
        return Needs(
            streams=cell.uploads(cell.target.answers(cell.knowledge)),
            probes={"auxiliary": cell.ask("auxiliary", count)},
            asked=AskedAbout(span=Span(data=cell.data, split="auxiliary", start=0, stop=count)).model_dump(
                mode="json"
            ),
        )

    def infer(
        self, attack: Any, evidence: StudentEvidence, job: FitJob, releases: Releases
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (V, Y): the student's soft outputs for its victims."""
        from leakrange.providers.distillation import distil
        from leakrange.providers.inference import outputs

        parameters, teacher = attack.parameters, evidence.teacher
        data, chosen = span_of(evidence.span)
        student = distil(
            data.values[chosen],
            releases(evidence.answers)[: len(chosen)],
            spec=data.spec,
            net=teacher.model_copy(update={"width": teacher.width * parameters.width}),
            schedule=Schedule(epochs=parameters.epochs, batch=parameters.batch, lr=parameters.lr),
            temperature=parameters.temperature,
            seed=job.seed,
        )
        soft = [outputs(student, _samples(span), "softmax") for span in evidence.victims]
        return {"scores": np.concatenate(soft)}

    async def judge(self, trial: Trial) -> Judged:
        """Compares what the provider infers and decides from the student's outputs with the users' labels."""
        span = AskedAbout.model_validate(trial.needs.asked).span
        student = await trial.fitted(
            StudentEvidence(
                teacher=trial.model.recipe.net,
                span=span,
                answers=trial.answered("auxiliary"),
                victims=trial.users,
            )
        )
        uploaded = await trial.handed_in(student)
        spent = span.stop * len(trial.needs.probes["auxiliary"])
        return judge_guesses(trial, uploaded, decoded(trial, uploaded), spent=spent)


def _samples(span: Span) -> NDArray[Any]:
    data, chosen = span_of(span)
    return data.values[chosen]
