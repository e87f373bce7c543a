"""What a provider decodes: users' uploads, or the outputs of a user's own model that was trained on its
answers (distillation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack, Inference
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import judge_guesses
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Kind, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial, Uploaded
from leakrange.data.spans import span_of
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics.roc import most_accurate_threshold
from leakrange.nets import nets
from leakrange.strict import Strict
from leakrange.wire.digests import digest
from leakrange.wire.errors import NotFound

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["DecoderKind", "StudentKind", "cut_anew"]


@kinds.register("decoder")
class DecoderKind(SilentKind):
    """Needs no queries and no fit: the provider's inferences come with the uploads."""

    name: ClassVar[str] = "decoder"
    leakage: ClassVar[str] = "auc"
    asks = None

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """What the provider's model hides for its decoder."""
        return what_is_decoded(attack, given, provider)

    def plan(self, cell: Cell) -> Needs | None:
        """One stream of users' uploads."""
        return Needs(streams=cell.uploads())

    def judge(self, trial: Trial) -> Judged:
        """Compares the inferences with the labels that the users' edge clients registered."""
        return judge_guesses(trial, trial.uploaded, decoded(trial, trial.uploaded), seen=trial.budget)


def what_is_decoded(attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
    """The attribute that the provider's decoder infers, or the reason why there is none."""
    if not provider.decodes or provider.sensitive is None:
        return "it decodes nothing"
    classes = provider.attributes[provider.sensitive].classes
    return Target(attack, provider.sensitive, classes, attack.Parameters.model_validate(given))


def decoded(trial: Trial, uploaded: Uploaded) -> Inference:
    """What the provider inferred from uploads. Raises `NotFound` where it has no decoder."""
    if uploaded.inferred is None:
        raise NotFound(f"the provider of {trial.model.id} has no decoder: it inferred nothing")
    return uploaded.inferred


OWN = 2_000
"""The largest number of training records by which a provider cuts scores."""


class Answered(Strict):
    """``answers`` about the samples of ``span``, whose labels are not read."""

    span: Span
    answers: SomeChunks


class StudentEvidence(Strict):
    """All that was ``answered``. ``teacher`` is the net that every user of the provider can download.
    ``victims`` are the samples that the student is applied to, in order. ``own`` are records of the provider,
    whose class of ``hidden`` it knows.
    """

    teacher: NetSpec
    answered: Annotated[list[Answered], Field(min_length=1)]
    victims: Annotated[list[Span], Field(min_length=1)]
    own: Span
    hidden: str


@kinds.register("student")
class StudentKind(Kind):
    """The fleet plays the user: it queries the provider, trains the student, and uploads the student's
    outputs."""

    name: ClassVar[str] = "student"
    leakage: ClassVar[str] = "auc"
    Evidence: ClassVar[type[BaseModel]] = StudentEvidence

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The attribute that the teacher hides for its decoder."""
        if not isinstance(provider.target, str):
            return "it is asked for several attributes, and a student learns one"
        target = what_is_decoded(attack, given, provider)
        if isinstance(target, str):
            return target
        if target.parameters.threshold != "teacher" and len(target.classes) != 2:
            return "a threshold is for a hidden attribute of two classes"
        if (net := target.parameters.net) is not None and net not in nets:
            return f"there is no net {net!r} for its student; there are {', '.join(sorted(nets))}"
        return target

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
        records = min(cell.available("train") or OWN, OWN)
        return Needs(
            streams=cell.uploads(cell.target.answers(cell.knowledge)),
            probes=probes,
            hands_in=ATTACK,
            asked={role: span.model_dump(mode="json") for role, span in asked.items()} | {"own": records},
        )

    def infer(
        self, attack: Any, evidence: StudentEvidence, job: FitJob, releases: ReleaseStore
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (V, Y): the student's soft outputs for its victims, and the classes ``own``
        int64 (K,) of the provider's own records. Where it runs the student on these, ``scores`` are
        (V + K, Y). The same student is trained once, wherever its provider cuts."""
        data, chosen = span_of(evidence.own)
        chosen = chosen[data.labels[evidence.hidden][chosen] >= 0]

        def trained() -> dict[str, NDArray[Any]]:
            from leakrange.providers.inference import outputs

            student = _taught(attack.parameters, evidence, job.seed, releases)
            given = [outputs(student, _samples(span), "softmax") for span in evidence.victims]
            return {"users": np.concatenate(given), "own": outputs(student, data.values[chosen], "softmax")}

        identity = [attack.parameters.model_dump(mode="json", exclude={"threshold"}), job.seed]
        outputs_by_part = releases.once(
            digest(["student", *identity, evidence.model_dump(mode="json")]), trained
        )
        parts = ["users", "own"] if attack.parameters.threshold == "records" else ["users"]
        return {
            "scores": np.concatenate([outputs_by_part[part] for part in parts]),
            "own": data.labels[evidence.hidden][chosen],
        }

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The student."""
        evidence = StudentEvidence(
            teacher=trial.model.recipe.net,
            answered=[Answered(span=span, answers=trial.answered(role)) for role, span in _asked(trial)],
            victims=trial.users,
            own=Span(data=trial.model.recipe.data, split="train", start=0, stop=trial.needs.asked["own"]),
            hidden=trial.hidden,
        )
        return {ATTACK: Fit(evidence)}

    def judge(self, trial: Trial) -> Judged:
        """Compares what the provider infers and decides from the student's outputs with the users' labels."""
        uploaded = trial.handed_in
        guessed = decoded(trial, uploaded)
        if trial.parameters["threshold"] != "teacher":
            users = sum(span.stop - span.start for span in trial.users)
            guessed = cut_anew(guessed, users, trial.fitted().arrays["own"])
            uploaded = replace(uploaded, decisions=uploaded.decisions[:users])
        spent = sum(span.stop for _, span in _asked(trial)) * len(trial.needs.probes["auxiliary"])
        return judge_guesses(trial, uploaded, guessed, spent=spent)


def _asked(trial: Trial) -> list[tuple[str, Span]]:
    """What the provider is asked about, by the role of the probes."""
    asked = trial.needs.asked
    return [(role, Span.model_validate(asked[role])) for role in ("auxiliary", "more") if role in asked]


def cut_anew(inference: Inference, users: int, record_classes: NDArray[np.int64]) -> Inference:
    """The inference about the first ``users`` (V,) by a provider that chooses a new cut of its decoder's
    scores.

    ``record_classes`` (K,) are the classes, 0 or 1, of its own records. Where these were decoded after the
    users, with (V + K, 2) scores in all, the cut is the one that is right most often on them, where both
    classes count alike: else it would say of nobody that he has a rare class. Without, the share of users
    above it equals the share of records of class 1. Scores are moved by the cut: above 0 says class 1.
    """
    apart = (inference.scores[:, 1] - inference.scores[:, 0]).astype(np.float64)
    if len(apart) > users:
        cut, _ = most_accurate_threshold(apart[users:], record_classes, balanced=True)
    else:
        cut = float(np.quantile(apart, 1.0 - record_classes.mean()))
    above = (apart[:users] - cut) / 2
    scores = np.stack([-above, above], axis=1).astype(np.float32)
    return Inference((apart[:users] > cut).astype(np.int64), scores)


def _taught(parameters: Any, evidence: StudentEvidence, seed: int, releases: ReleaseStore) -> Classifier:
    from leakrange.providers.distillation import distil

    samples = [_samples(part.span) for part in evidence.answered]
    soft = [
        releases(part.answers)[: len(asked)] for part, asked in zip(evidence.answered, samples, strict=True)
    ]
    data, _ = span_of(evidence.answered[0].span)
    teacher = evidence.teacher
    return distil(
        np.concatenate(samples),
        np.concatenate(soft),
        spec=data.spec,
        net=NetSpec(name=parameters.net or teacher.name, width=teacher.width * parameters.width),
        schedule=Schedule(epochs=parameters.epochs, batch=parameters.batch, lr=parameters.lr),
        temperature=parameters.temperature,
        dropout=parameters.dropout,
        seed=seed,
    )


def _samples(span: Span) -> NDArray[Any]:
    data, chosen = span_of(span)
    return data.values[chosen]
