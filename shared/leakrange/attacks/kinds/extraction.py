"""Copies of a model, which are compared with what its users got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Pairs
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.kinds.users import decisions_of, own_records, user_groups
from leakrange.data.spans import samples_of, span_of
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import measured
from leakrange.metrics.extraction import Copied
from leakrange.strict import Strict

__all__ = ["ExtractionKind"]

COPIED = "the model's decisions"
"""What such attacks infer, in words."""


class CopyEvidence(Strict):
    """The ``answers`` about the attacker's own samples of ``span``, and the samples of ``users``, which the
    copy decides about and does not learn from."""

    span: Span
    answers: SomeChunks
    users: Annotated[list[Span], Field(min_length=1)]


@kinds.register("extraction")
class ExtractionKind(Kind):
    """The attacker asks about records of its own. Its copy then decides about the users' samples."""

    name: ClassVar[str] = "extraction"
    leakage: ClassVar[str] = "fidelity"
    Evidence: ClassVar[type[BaseModel]] = CopyEvidence

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The provider's model."""
        if reason := provider.no_uploads:
            return reason
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and a copy learns one"
        return Target(attack, COPIED, (), attack.Parameters.model_validate(given))

    def plan(self, cell: Cell) -> Needs | None:
        """Answers about auxiliary records, and what users got. None where a defence changes the model on
        devices: whoever has a device has the model."""
        count = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget, cell.available())
        if count is None or cell.changes_model:
            return None
        span = Span(data=cell.data, split="auxiliary", start=0, stop=count)
        return Needs(
            streams=cell.uploads(),
            probes={"auxiliary": cell.ask("auxiliary", count)},
            asked={"span": span.model_dump(mode="json")},
        )

    def infer(
        self, attack: Any, evidence: CopyEvidence, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (V, Y) of the copy, for the users' samples."""
        data, _ = span_of(evidence.span)
        samples = samples_of(evidence.span)
        lessons = Pairs(
            auxiliary=releases(evidence.answers)[: len(samples)],
            samples=samples,
            observed=np.concatenate([samples_of(span) for span in evidence.users]),
            spec=data.spec,
            seed=job.seed,
        )
        return {"scores": attack.copy(lessons, job.release).astype(np.float32)}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The copy."""
        answers = trial.answered("auxiliary")
        return {ATTACK: Fit(CopyEvidence(span=own_records(trial), answers=answers, users=trial.users))}

    def judge(self, trial: Trial) -> Judged:
        """Compares the copy's decisions with those that users got."""
        uploaded, target = trial.uploaded, trial.model.target
        copied = trial.fitted().arrays["scores"].argmax(axis=1)
        group = user_groups(trial, uploaded, target, slice(None))
        outcome = Copied(copied, uploaded.decisions, uploaded.truth(target), group)
        return Judged(
            metrics=measured(decisions_of(trial, uploaded), outcome),
            views={},
            victims=len(copied),
            spent=len(trial.needs.probes["auxiliary"]) * own_records(trial).stop,
        )
