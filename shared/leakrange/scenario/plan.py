"""What a scenario expands to: models to train, streams of users, probes of attackers, and the trials that
consume them.

The plan is stored with the run, so that a controller that is restarted, even in a newer version, goes on with
what was begun.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakrange.scenario.results import TrialResult
from leakrange.wire.jobs import (
    Candidates,
    FitJob,
    ProbeJob,
    ReleaseKind,
    Shadow,
    Shown,
    Span,
    Student,
    TrainJob,
)
from leakrange.wire.recipe import TrainingRecipe, digest

__all__ = [
    "Plan",
    "PlannedMembers",
    "PlannedModel",
    "PlannedPolicy",
    "PlannedProbe",
    "PlannedStream",
    "PlannedTrial",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedModel(_Strict):
    """One model to train and serve: a provider of the scenario under one seed. ``id`` is
    ``{provider}-s{seed}``.
    """

    id: str
    provider: str
    seed: int
    data: str
    """The scenario's label of the data set."""
    recipe: TrainingRecipe
    release: ReleaseKind
    target: str
    sensitive: str | None

    @property
    def artifact(self) -> str:
        """The recipe's digest."""
        return self.recipe.digest()

    def shows(self, span: Span) -> TrainJob:
        """The fleet's job that has a model which nobody serves release what it gives for ``span``."""
        return TrainJob(recipe=self.recipe, shown=Shown(release=self.release, span=span))

    @property
    def served_as(self) -> str:
        """The name under which providers serve it and proxies route to it: the same model has the same name
        in every run. It tells task and release, which are public, and nothing of the behaviour.
        """
        return f"{self.recipe.data.name}-{self.target}-{self.release}-{self.artifact[:12]}"


class PlannedPolicy(_Strict):
    """What the proxy does of a defence of the scenario: ``chain`` is its list of output defences, ``digest``
    that chain's identity."""

    defence: str
    chain: list[Any]
    digest: str

    @property
    def name(self) -> str:
        """The policy's name at the proxy; content-addressed, so that runs cannot replace each other's."""
        return f"{self.defence}-{self.digest[:12]}"


class PlannedStream(_Strict):
    """What users upload to one model under one defence: ``spans`` in order, each one round of the edge
    client, of which at most ``clients`` are under way at once.

    ``draw`` counts repeated uploads of the same samples. ``id`` is ``{model}.{defence}.u{draw}``.
    """

    id: str
    model: str
    defence: str
    draw: int
    clients: int
    local: list[Any] = []
    """What the edge client does by itself before the upload: its own chain, and the model defences of the
    scenario's defence."""
    spans: list[Span]

    def identity(self, model: PlannedModel, policy: PlannedPolicy, span: Span) -> str:
        """Of one round: what its stored releases are named by."""
        where = [model.artifact, policy.digest, self.local, model.release]
        return digest(["stream", *where, span.model_dump(mode="json"), self.draw])


class PlannedProbe(_Strict):
    """What an outside attacker asks of one model under one defence: ``spans`` of its auxiliary records, or of
    the pool whose members it is after, each one request.

    ``id`` is ``{model}.{defence}.q{draw}``, of the pool ``{model}.{defence}.pool{draw}``.
    """

    id: str
    model: str
    defence: str
    draw: int
    spans: list[Span]

    def job(
        self, model: PlannedModel, policy: PlannedPolicy, span: Span, *, url: str, api_key: str
    ) -> ProbeJob:
        """The fleet's job for one span."""
        return ProbeJob(
            url=url,
            api_key=api_key,
            model=model.served_as,
            artifact=model.artifact,
            policy=policy.digest,
            release=model.release,
            span=span,
            draw=self.draw,
        )


class PlannedMembers(_Strict):
    """What a trial of a membership attack consumes: ``probes`` of the pool's ``records``, in the order of the
    draws, and the ``shadows`` of the plan, by id. ``defence`` is what the attacker does to their outputs.
    """

    records: Span
    probes: list[str]
    shadows: list[str] = []
    defence: list[Any] = []


class PlannedTrial(_Strict):
    """One cell of the matrix and what it consumes, by id, in the order of the draws.

    ``where`` is "provider" for an attack that the provider runs itself (its inferences come with the
    streams), "fleet" for one that is fitted on ``probes``, and "user" for a student that learns from
    ``probes`` and whose outputs for the streams' samples the provider reads. ``auxiliary_count`` is how many
    records of the probes are used, and ``span`` the samples they are.
    """

    result: TrialResult
    """As yet without figures."""
    model: str
    where: Literal["provider", "fleet", "user"]
    attack: str
    """The registered name."""
    parameters: dict[str, Any] = {}
    streams: list[str]
    probes: list[str] = []
    auxiliary_count: int = 0
    span: Span | None = None
    members: PlannedMembers | None = None

    def membership_job(
        self,
        model: PlannedModel,
        population: list[list[str]],
        answers: list[list[str]],
        shadows: list[Shadow],
    ) -> FitJob:
        """The fleet's job that scores the pool's records by the model's stored ``answers`` for them, and for
        a ``population`` of others."""
        if self.members is None:
            raise ValueError(f"{self.result.id} is after no members")
        candidates = Candidates(
            records=self.members.records,
            target=model.target,
            shadows=shadows,
            defence=self.members.defence,
            draws=len(self.members.probes),
        )
        asked = self.model_copy(update={"span": self.span or self.members.records})
        return asked.job(model.release, population, answers).model_copy(update={"candidates": candidates})

    def student_job(self, model: PlannedModel, auxiliary: list[list[str]], victims: list[Span]) -> FitJob:
        """The fleet's job that trains a student on stored answers and uses it on ``victims``."""
        job = self.job(model.release, auxiliary, observed=[])
        return job.model_copy(update={"student": Student(teacher=model.recipe.net, victims=victims)})

    def job(self, release: ReleaseKind, auxiliary: list[list[str]], observed: list[list[str]]) -> FitJob:
        """The fleet's job, given the identities of the stored releases, chunk by chunk, each with its
        draws."""
        if self.span is None:
            raise ValueError("a trial that the provider infers has no job for the fleet")
        return FitJob(
            attack=self.attack,
            parameters=self.parameters,
            knowledge=self.result.knowledge,
            release=release,
            sensitive=self.result.sensitive,
            auxiliary=auxiliary,
            auxiliary_count=self.auxiliary_count,
            span=self.span,
            observed=observed,
            seed=self.result.seed,
        )


class Plan(_Strict):
    """Everything that a run has to do, each thing once."""

    models: list[PlannedModel]
    shadows: list[PlannedModel] = []
    """Models that attackers train, and nobody serves. ``id`` is ``{provider}-shadow{number}``, ``seed`` the
    number."""
    policies: list[PlannedPolicy]
    streams: list[PlannedStream]
    probes: list[PlannedProbe]
    trials: list[PlannedTrial]
    classes: dict[str, dict[str, list[str]]]
    """Per data label and attribute the names of the classes, for scoring without loading data."""
