"""What a scenario expands to: models to train, streams of users, probes of attackers, and the trials that
consume them.

The plan is stored with the run, so that a controller that is restarted, even in a newer version, goes on with
what was begun.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakrange.attacks.people.questions import asked_pairs, public_pairs
from leakrange.data.crowd import part_sizes
from leakrange.jobs.job import Asked, Candidates, FitJob, ProbeJob, Shadow, Shown, Span, Student, TrainJob
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.scenario.document import ServiceSpec
from leakrange.scenario.results import TrialResult
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import endpoint_of
from leakrange.wire.names import PublicNames
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Deployment

__all__ = [
    "Plan",
    "PlannedMembers",
    "PlannedModel",
    "PlannedPeople",
    "PlannedPolicy",
    "PlannedProbe",
    "PlannedStream",
    "PlannedTrial",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedModel(_Strict):
    """One model to train and serve: a provider of the scenario under one seed. ``id`` is
    ``{provider}-s{seed}``. With a ``service`` it is a teacher behind that, or, of a recognition, the student
    on the body of its ``teacher``.
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
    service: ServiceSpec | None = None
    teacher: PlannedModel | None = None

    @property
    def plays(self) -> str:
        """The behaviour of whoever serves it."""
        return self.recipe.behaviour if self.teacher is None else self.teacher.plays

    @property
    def deployment(self) -> Deployment:
        """How it is served."""
        if self.service is None:
            return Deployment(artifact=self.artifact, release=self.release)
        if self.service.kind == "recognition":
            return Deployment(artifact=self.artifact, service=self.service.kind)
        compared = {"distance": self.service.distance} if self.service.kind == "verification" else {}
        return Deployment(
            artifact=self.artifact,
            service=self.service.kind,
            normalised=self.service.normalised,
            **compared,
        )

    @property
    def endpoint(self) -> str:
        """Where it is asked."""
        return endpoint_of("classifier" if self.service is None else self.service.kind, self.release)

    @property
    def artifact(self) -> str:
        """The recipe's digest."""
        return self.recipe.digest()

    def shows(self, span: Span) -> TrainJob:
        """The fleet's job that has a model which nobody serves release what it gives for ``span``."""
        return TrainJob(recipe=self.recipe, shown=Shown(release=self.release, span=span))

    def served_as(self, names: PublicNames) -> str:
        """The name under which providers serve it and proxies route to it: the same model has the same name
        in every run of a range. It tells task and release, which are public, and nothing of the behaviour.
        """
        data, own = self.recipe.data.name, names.of("model", self.deployment.answers())
        if self.service is not None:  # whose teacher's target stays untold
            return f"{data}-{self.service.kind}-{own}"
        return f"{data}-{self.target}-{self.release}-{own}"


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
    """What users upload to one model under one defence: ``spans`` in order, each one session of the edge
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
        """Of one session: what its stored releases are named by."""
        where = [model.artifact, policy.digest, self.local, model.release]
        return digest(["stream", *where, span.model_dump(mode="json"), self.draw])


class PlannedProbe(_Strict):
    """What an outside attacker asks of one model under one defence: ``spans`` of its auxiliary records, or of
    the pool whose members it is after, each one request.

    ``id`` is ``{model}.{defence}.q{draw}``, of the pool ``{model}.{defence}.pool{draw}``. ``by`` the users
    of a student service it is what shows how well that serves them. The spans of a verification number pairs
    of a crowd's images.
    """

    id: str
    model: str
    defence: str
    draw: int
    spans: list[Span]
    by: Literal["attacker", "users"] = "attacker"

    def job(
        self, model: PlannedModel, policy: PlannedPolicy, span: Span, *, url: str, account: str, name: str
    ) -> ProbeJob:
        """The fleet's job for one span; ``name`` is what the model is served as."""
        recognises = model.service is not None and model.service.kind == "recognition"
        asked, pairs = (span, None) if model.release != "score" else self._compared(span)
        return ProbeJob(
            url=url,
            account=account,
            model=name,
            artifact=model.deployment.answers(),
            policy=policy.digest,
            release=model.release,
            span=asked,
            draw=self.draw,
            pairs=pairs,
            endpoint="recognition" if recognises else None,
        )

    def _compared(self, span: Span) -> tuple[Span, list[tuple[int, int]]]:
        """The images among which the pairs are that ``span`` numbers, and these pairs."""
        crowd = span.data.crowd
        if crowd is None:
            raise ValueError(f"{self.id} asks about pairs of nobody")
        if span.split == "pool":
            pairs = asked_pairs(crowd, max(each.stop for each in self.spans))
        else:
            pairs = public_pairs(crowd).places
        chosen = pairs[span.start : span.stop]
        whole = span.model_copy(update={"start": 0, "stop": part_sizes(crowd)[span.split]})
        return whole, [(int(first), int(second)) for first, second in chosen]


class PlannedMembers(_Strict):
    """What a trial of a membership attack consumes: ``probes`` of the pool's ``records``, in the order of the
    draws, and the ``shadows`` of the plan, by id. ``defence`` is what the attacker does to their outputs.
    """

    records: Span
    probes: list[str]
    shadows: list[str] = []
    defence: list[Any] = []


class PlannedPeople(_Strict):
    """What a trial of an attack on people consumes: ``probes`` under the defence, in the order of the draws,
    and ``undefended`` ones, where the attacker is unaware of it; ``count`` questions of each. ``users`` is
    the probe that shows how well the service serves."""

    count: int
    probes: list[str]
    undefended: list[str] = []
    users: str


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
    people: PlannedPeople | None = None

    def people_job(
        self, model: PlannedModel, answers: list[list[str]], undefended: list[list[str]]
    ) -> FitJob:
        """The fleet's job that scores the people of a crowd by stored ``answers`` about them, having learnt
        from ``undefended`` ones, if there are any."""
        if self.people is None:
            raise ValueError(f"{self.result.id} is after no people")
        count = self.people.count if undefended else 0
        asked = Asked(count=self.people.count, known=self.parameters["known"])
        planned = self.model_copy(update={"auxiliary_count": count})
        return planned.job(model.release, undefended, answers).model_copy(update={"asked": asked})

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
