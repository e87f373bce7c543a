"""Copies of a model, which are compared with what its users got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Pairs
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import AskedStep, Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, Kind, ReleaseStore
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.kinds.users import decisions_of, own_records, user_groups
from leakrange.data import datasets
from leakrange.data.spans import samples_of, span_of
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span, Split
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.walk import WALK, WalkOrder, Walks
from leakrange.metrics import measured
from leakrange.metrics.extraction import Copied, LastLayer
from leakrange.registry import unknown
from leakrange.strict import Strict

__all__ = ["MOST_POOL", "WALK_ROLE", "ExtractionKind", "public_data", "unlike", "walks"]

COPIED = "the model's decisions"
"""What such attacks infer, in words."""


WALK_ROLE = "chosen"
"""The role of the step of an attack that chooses what it asks."""
MOST_POOL = 10_000
"""The most samples among which it chooses."""


class CopyEvidence(Strict):
    """The ``answers`` about the samples of ``span``, or the ``walk`` that chose among these what it asked;
    and the samples of ``users``, which the copy decides about and does not learn from."""

    span: Span
    answers: Chunks
    walk: str = ""
    users: Annotated[list[Span], Field(min_length=1)]


@kinds.register("extraction")
class ExtractionKind(Kind):
    """The attacker asks about records of its own. Its copy then decides about the users' samples."""

    name: ClassVar[str] = "extraction"
    leakage: ClassVar[str] = "fidelity"
    hides: ClassVar[str] = "the model itself"
    Evidence: ClassVar[type[BaseModel]] = CopyEvidence

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The provider's model."""
        if reason := provider.no_uploads:
            return reason
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and a copy learns one"
        parameters: Any = attack.Parameters.model_validate(given)
        if parameters.public and (reason := unlike(provider.data, parameters.public)):
            return reason
        return Target(attack, COPIED, (), parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """Answers about samples from where the attack has them, and what users got. None where a defence
        changes the model on devices: whoever has a device has the model; and where an attacker chooses what
        it asks, but repeats it, or has records whose number nobody here knows."""
        data, split = _source(cell)
        available = None if split == "drawn" else cell.available(split, data)
        count = self.buys(cell.target, cell.provider, cell.knowledge, cell.budget, available)
        if count is None or cell.changes_model:
            return None
        span = Span(data=data or cell.data, split=split, start=0, stop=count)
        if not cell.target.parameters.chooses:
            return Needs(
                streams=cell.uploads(),
                probes={"auxiliary": cell.ask(split, count, data=data)},
                asked={"span": span.model_dump(mode="json")},
            )
        if available is None or cell.knowledge == "averaging":
            return None
        pool = span.model_copy(update={"stop": min(available, MOST_POOL)})
        order = WalkOrder(
            span=pool,
            queries=count,
            attack=cell.target.attack.name,
            parameters=cell.target.parameters.model_dump(mode="json"),
            together=True,
        )
        return Needs(
            streams=cell.uploads(),
            steps={WALK_ROLE: AskedStep(step=WALK.name, parameters=order.model_dump(mode="json"))},
            asked={"span": pool.model_dump(mode="json")},
        )

    def infer(
        self, attack: Any, evidence: CopyEvidence, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (V, Y) of the copy, for the users' samples."""
        data, _ = span_of(evidence.users[0])
        samples = samples_of(evidence.span)
        if evidence.walk:
            walked = releases.arrays(evidence.walk)
            samples, answers = samples[walked["chosen"]], walked["answers"]
        else:
            answers = releases(evidence.answers)[: len(samples)]
        lessons = Pairs(
            auxiliary=answers,
            samples=samples,
            observed=np.concatenate([samples_of(span) for span in evidence.users]),
            spec=data.spec,
            seed=job.seed,
        )
        return {"scores": attack.copy(lessons, job.release).astype(np.float32)}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The copy."""
        evidence = CopyEvidence(
            span=own_records(trial),
            answers=trial.answered("auxiliary"),
            walk=walks(trial).identities[0] if trial.needs.steps else "",
            users=trial.users,
        )
        return {ATTACK: Fit(evidence)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the copy's decisions with those that users got, and reads what the answers tell of the
        model's last layer."""
        uploaded, target = trial.uploaded, trial.model.target
        copied = trial.fitted().arrays["scores"].argmax(axis=1)
        group = user_groups(trial, uploaded, target, slice(None))
        outcome = Copied(copied, uploaded.decisions, uploaded.truth(target), group)
        if trial.needs.steps:
            answers = walks(trial).joined("answers")
            spent = len(answers)
        else:
            spent = len(trial.needs.probes["auxiliary"]) * own_records(trial).stop
            answers = trial.answers("auxiliary")[: own_records(trial).stop]
        return Judged(
            metrics=measured(decisions_of(trial, uploaded), outcome, LastLayer(answers, trial.model.release)),
            views={},
            victims=len(copied),
            spent=spent,
        )


def _source(cell: Cell) -> tuple[DataSpec | None, Split]:
    """Where queries come from: the other data set, if any, and the split."""
    parameters: Any = cell.target.parameters
    if parameters.public:
        return public_data(cell.data, parameters.public), "train"
    return None, "drawn" if parameters.queries == "drawn" else "auxiliary"


def public_data(data: DataSpec, name: str) -> DataSpec:
    """The other set, where it can be in the size of the model's samples."""
    taken = datasets[data.name]
    given = data.size or (taken.sample(data).shape[0] if taken.resizable() else None)
    size = given if datasets[name].resizable() else None
    return DataSpec(name=name, size=size, validation=0.0, auxiliary=0.0)


def unlike(data: DataSpec, name: str) -> str | None:
    """Why nobody can ask a model for samples of ``data`` about those of the set of that ``name``; None where
    everybody can."""
    if name not in datasets:
        return unknown("data set", name, datasets)
    taken, public = (datasets[each.name].sample(each) for each in (data, public_data(data, name)))
    if (taken.encoding, taken.shape, taken.dtype) == (public.encoding, public.shape, public.dtype):
        return None
    return (
        f"a sample of {name!r} is a {public.encoding} {public.shape} of {public.dtype}, and the model takes "
        f"a {taken.encoding} {taken.shape} of {taken.dtype}"
    )


def walks(trial: Trial) -> Walks:
    """What an attack that chooses its questions asked, and what it got."""
    walks: Walks = trial.taken(WALK_ROLE)
    return walks
