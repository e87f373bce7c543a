"""Distillation: the provider decodes the outputs of a user's own model that was trained on the provider's
answers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import judge_guesses
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.decoder import decoded, what_is_decoded
from leakrange.attacks.kinds.kind import Chunks, Kind, Releases
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.data.spans import span_of
from leakrange.jobs.job import FitJob, Span
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule

__all__ = ["StudentKind"]


class Answered(BaseModel):
    """``answers`` about the samples of ``span``, whose labels are not read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    span: Span
    answers: Annotated[Chunks, Field(min_length=1)]


class StudentEvidence(BaseModel):
    """All that was ``answered``. ``teacher`` is the net that every user of the provider can download.
    ``victims`` are the samples that the student is applied to, in order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    teacher: NetSpec
    answered: Annotated[list[Answered], Field(min_length=1)]
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
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and a student learns one"
        return what_is_decoded(attack, given, provider)

    def plan(self, cell: Cell) -> Needs | None:
        """None where devices defend or change the provider's model: the student is another model."""
        count = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget, cell.available())
        if count is None or cell.changes_devices or cell.devices_defend:
            return None
        asked = {"auxiliary": Span(data=cell.data, split="auxiliary", start=0, stop=count)}
        probes = {"auxiliary": cell.ask("auxiliary", count)}
        if more := cell.target.parameters.model_dump().get("more"):
            other = DataSpec(name=more, size=cell.data.size, validation=0.0, auxiliary=0.0)
            rest = cell.budget // cell.target.answers(cell.knowledge) - count
            rest = min(rest, cell.available("train", other) or 0)
            if rest:
                asked["more"] = Span(data=other, split="train", start=0, stop=rest)
                probes["more"] = cell.ask("train", rest, data=other)
        return Needs(
            streams=cell.uploads(cell.target.answers(cell.knowledge)),
            probes=probes,
            asked={role: span.model_dump(mode="json") for role, span in asked.items()},
        )

    def infer(
        self, attack: Any, evidence: StudentEvidence, job: FitJob, releases: Releases
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (V, Y): the student's soft outputs for its victims."""
        from leakrange.providers.distillation import distil
        from leakrange.providers.inference import outputs

        parameters, teacher = attack.parameters, evidence.teacher
        samples = [_samples(part.span) for part in evidence.answered]
        soft = [
            releases(part.answers)[: len(asked)]
            for part, asked in zip(evidence.answered, samples, strict=True)
        ]
        data, _ = span_of(evidence.answered[0].span)
        student = distil(
            np.concatenate(samples),
            np.concatenate(soft),
            spec=data.spec,
            net=teacher.model_copy(update={"width": teacher.width * parameters.width}),
            schedule=Schedule(epochs=parameters.epochs, batch=parameters.batch, lr=parameters.lr),
            temperature=parameters.temperature,
            seed=job.seed,
        )
        given = [outputs(student, _samples(span), "softmax") for span in evidence.victims]
        return {"scores": np.concatenate(given)}

    async def judge(self, trial: Trial) -> Judged:
        """Compares what the provider infers and decides from the student's outputs with the users' labels."""
        answered = [
            Answered(span=Span.model_validate(span), answers=trial.answered(role))
            for role, span in trial.needs.asked.items()
        ]
        student = await trial.fitted(
            StudentEvidence(teacher=trial.model.recipe.net, answered=answered, victims=trial.users)
        )
        uploaded = await trial.handed_in(student)
        spent = sum(part.span.stop for part in answered) * len(trial.needs.probes["auxiliary"])
        return judge_guesses(trial, uploaded, decoded(trial, uploaded), spent=spent)


def _samples(span: Span) -> NDArray[Any]:
    data, chosen = span_of(span)
    return data.values[chosen]
