"""The expansion of a scenario: models to train, streams of users, probes of attackers, and the trials that
consume them.

The plan is stored with the run, so that a controller that is restarted goes on with what was begun.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PlainSerializer, PlainValidator, ValidationError

from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.trial import Judged, TrialModel
from leakrange.attacks.people.questions import compared
from leakrange.data import Names, names
from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import Chain, InvalidChain
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.craft import CRAFT, CraftJob
from leakrange.jobs.steps.fit import FitJob, given_evidence
from leakrange.jobs.steps.probe import PROBE, ProbeJob
from leakrange.jobs.steps.replay import REPLAY
from leakrange.jobs.steps.serve import SERVE
from leakrange.jobs.steps.show import SHOW, ShowJob
from leakrange.jobs.steps.stream import STREAM
from leakrange.jobs.steps.train import TRAIN
from leakrange.scenario.load import Alternative, LoadSpec
from leakrange.scenario.results import TrialResult
from leakrange.strict import Strict
from leakrange.targets.target import RemoteTarget
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import endpoint_of
from leakrange.wire.errors import Conflict
from leakrange.wire.names import PublicNames
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Deployment

__all__ = [
    "FORM",
    "Plan",
    "PlannedModel",
    "PlannedObfuscator",
    "PlannedPolicy",
    "PlannedProbe",
    "PlannedStream",
    "PlannedTrial",
]

FORM = 2
ANOTHER_VERSION = (
    "the run was planned by another version of Leakrange, and this one cannot go on with it: run its scenario"
    " again"
)


def _policy(given: Any) -> Chain:
    try:
        return given if isinstance(given, Chain) else Chain.parse(given)
    except InvalidChain as error:
        raise ValueError(error.detail) from error


def _local(given: Any) -> DefenceChain:
    try:
        chain = given if isinstance(given, DefenceChain) else DefenceChain.parse(given)
    except InvalidChain as error:
        raise ValueError(error.detail) from error
    return replace(chain, outputs_at="device")


# A plan is stored with its chains as scenarios write them.
PolicyChain = Annotated[Chain, PlainValidator(_policy), PlainSerializer(Chain.spec)]
LocalChain = Annotated[DefenceChain, PlainValidator(_local), PlainSerializer(DefenceChain.spec)]
Replayed = Annotated[str, Field(exclude_if=operator.not_)]
"""The id of an undefended stream or probe whose stored answers stand for those behind the defence, so that
nobody is asked; "" where somebody is."""
ON_NO_DEVICE = DefenceChain(outputs_at="device")
TOLD = 3
"""Targets that the name of a served model tells, at most."""


class PlannedObfuscator(Strict):
    """An obfuscator or an extractor that is trained for a defence, and that devices then fetch and run.
    ``id`` is ``{defence}-{artifact[:8]}-s{seed}``."""

    id: str
    recipe: TrainingRecipe

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> PlannedObfuscator:
        """Return the obfuscator that the recipe of a defence makes."""
        return cls(id=f"{recipe.defence}-{recipe.digest()[:8]}-s{recipe.seed}", recipe=recipe)

    @property
    def artifact(self) -> str:
        """The recipe's digest."""
        return self.recipe.digest()


class PlannedModel(TrialModel):
    """One model to train and serve: a provider of the scenario under one seed. ``id`` is
    ``{provider}-s{seed}``. With a ``service`` it is the teacher behind it, or, for a recognition, the student
    that was trained on the body of its ``teacher``.
    """

    provider: str
    seed: int
    data: str
    """The scenario's label of the data set."""
    sensitive: Names | None
    teacher: PlannedModel | None = None
    extractor: PlannedObfuscator | None = None
    """The extractor that is its body, if devices upload an extractor's features."""
    remote: RemoteTarget | None = None
    """Where it is asked, if somebody else serves it: nothing is trained then, and its users run nothing."""

    @property
    def plays(self) -> str:
        """The behaviour of the provider that serves it."""
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
        """The endpoint at which it is queried."""
        return endpoint_of("classifier" if self.service is None else self.service.kind, self.release)

    @property
    def artifact(self) -> str:
        """The recipe's digest."""
        return self.recipe.digest()

    def shows(self, span: Span, *further: Span) -> ShowJob:
        """The fleet's job that computes the releases of a model that nobody serves for ``span``."""
        return ShowJob(recipe=self.recipe, release=self.release, span=span, further=further)

    def served_as(self, public: PublicNames) -> str:
        """The name under which providers serve it and proxies route to it: the same model has the same name
        in every run of a range. It tells task and release, which are public, and nothing of the behaviour. Of
        more than three targets it tells the first two and how many there are: a name has 128 characters.
        """
        data, public_name = self.recipe.data.name, public.of("model", self.deployment.answers())
        if self.service is not None:  # the teacher's target is not told
            return f"{data}-{self.service.kind}-{public_name}"
        asked = names(self.target)
        targets = "-".join(asked) if len(asked) <= TOLD else f"{'-'.join(asked[:2])}-of-{len(asked)}"
        return f"{data}-{targets}-{self.release}-{public_name}"


class PlannedPolicy(Strict):
    """The part of a defence that the proxy applies: its ``chain`` of output defences, and that chain's
    ``digest``."""

    defence: str
    chain: PolicyChain
    digest: str

    @property
    def name(self) -> str:
        """The policy's name at the proxy; content-addressed, so that runs cannot replace each other's."""
        return f"{self.defence}-{self.digest[:12]}"


class PlannedStream(Strict):
    """The uploads of users to one model under one defence: ``spans`` in order, each one session of the edge
    client, of which at most ``clients`` are under way at once.

    ``draw`` counts repeated uploads of the same samples. ``id`` is ``{model}.{defence}.u{draw}``.
    """

    id: str
    model: str
    defence: str
    draw: int
    clients: int
    local: LocalChain = ON_NO_DEVICE
    """The chain that the edge client applies before the upload: its own, and the device part of the
    scenario's defence."""
    spans: list[Span]
    audit: AuditPlan | None = None
    """The audit that the model has to pass before anything is uploaded."""
    replays: Replayed = ""

    def released(self, model: PlannedModel, policy: PlannedPolicy) -> ReleaseKind:
        """Return the kind of the values that arrive, after the device's defences and the proxy's."""
        return policy.chain.makes(self.local.outputs.makes(model.release))

    def identity(self, model: PlannedModel, policy: PlannedPolicy, span: Span) -> str:
        """The name of one session's stored releases."""
        where: list[Any] = [model.artifact, policy.digest, self.local.spec(), model.release]
        if self.audit is not None:
            where.append(self.audit.model_dump(mode="json"))
        return digest(["stream", *where, span.model_dump(mode="json"), self.draw])


class PlannedProbe(Strict):
    """The questions of an outside attacker to one model under one defence: ``spans`` of its auxiliary
    records, or of the pool whose members it is after, each one request.

    ``id`` is ``{model}.{defence}.q{draw}``, of the pool ``{model}.{defence}.pool{draw}``, and with a device
    that does to samples what users' devices do ``{model}.{defence}.device{draw}``. Probes ``by`` the
    users of a student service measure how well it serves them. The spans of a verification count pairs of
    a crowd's images; with ``references`` each image is compared with so many images of the public, and
    the id ends with ``.r{references}``.
    """

    id: str
    model: str
    defence: str
    draw: int
    spans: list[Span]
    by: Literal["attacker", "users"] = "attacker"
    under: Alternative | None = None
    """The limits that load users ask under, and with how many keys."""
    local: LocalChain = ON_NO_DEVICE
    """The chain that the device applies to samples before they are sent. With a model defence it is the whole
    chain, and nothing is sent: the device runs the model."""
    references: int = 0
    replays: Replayed = ""

    @property
    def downloads(self) -> bool:
        """Whether the model is downloaded and run, so that no answer is asked for."""
        return self.local.changes_model

    @property
    def offered(self) -> bool:
        """Whether load users can ask it: they have no models, no trained obfuscators, no crafted samples."""
        return not self.downloads and not self.local.artifacts and not self.crafted

    @property
    def crafted(self) -> str:
        """The identity of the job that crafts its samples; empty where nothing is crafted."""
        return self.spans[0].crafted if self.spans else ""

    def job(
        self,
        model: PlannedModel,
        policy: PlannedPolicy,
        span: Span,
        *,
        url: str,
        account: str,
        name: str,
        obfuscators: Mapping[str, str] | None = None,
        under: str = "",
    ) -> ProbeJob:
        """The job for one span; ``name`` is what the model is served as, ``obfuscators`` the SHA-256
        of the file of each that ``local`` names, ``under`` the run whose load users ask."""
        asked, pairs = span, None
        if model.release == "score":
            asked, pairs = compared(span, max(each.stop for each in self.spans), self.references)
        return ProbeJob(
            url=url,
            account=account,
            model=name,
            artifact=model.deployment.answers(),
            policy=policy.digest,
            endpoint=model.endpoint,
            span=asked,
            draw=self.draw,
            by=self.by,
            defence=self.local.spec(),
            obfuscators=dict(obfuscators or {}),
            pairs=pairs,
            under=under,
        )

    def jobs(self, model: PlannedModel, policy: PlannedPolicy, **where: Any) -> list[ProbeJob]:
        """The jobs for all spans; ``where`` is what `job` takes beside the span."""
        if not self.spans or model.release == "score":
            return [self.job(model, policy, span, **where) for span in self.spans]
        first = self.job(model, policy, self.spans[0], **where)  # names and digests are the same for all
        return [first, *(first.model_copy(update={"span": span}) for span in self.spans[1:])]


class PlannedTrial(Strict):
    """One cell of the matrix and what it needs."""

    result: TrialResult
    """Without figures."""
    model: str
    attack: str
    """The registered name."""
    parameters: dict[str, Any] = {}
    needs: Needs
    samples: dict[str, int] = {}
    """By probe, of how many of its first samples the answers are used."""

    @classmethod
    def stored(cls, stored: dict[str, Any]) -> PlannedTrial:
        """Read a trial that was stored with a run. Raises `Conflict` if another version stored it."""
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            raise Conflict(ANOTHER_VERSION) from error

    def judged(self, judged: Judged) -> TrialResult:
        """The result with what was found out."""
        return self.result.model_copy(
            update={
                "state": "done",
                "victims": judged.victims,
                "spent": judged.spent,
                "metrics": judged.metrics,
                "views": judged.views,
            }
        )

    def job(self, release: ReleaseKind, evidence: BaseModel) -> FitJob:
        """The fleet's job that fits the attack on that evidence."""
        return FitJob(
            attack=self.attack,
            parameters=self.parameters,
            knowledge=self.result.knowledge,
            release=release,
            evidence=given_evidence(evidence),
            seed=self.result.seed,
        )


class Plan(Strict):
    """Everything that a run has to do, each thing once."""

    models: list[PlannedModel]
    shadows: list[PlannedModel] = []
    """Models that attackers train, and nobody serves. ``id`` is ``{provider}-shadow{number}``, ``seed`` the
    number."""
    obfuscators: list[PlannedObfuscator] = []
    crafts: list[CraftJob] = []
    policies: list[PlannedPolicy]
    streams: list[PlannedStream]
    probes: list[PlannedProbe]
    trials: list[PlannedTrial] = []
    """Empty in the plan of a run, whose trials stand in rows of the database."""
    classes: dict[str, dict[str, list[str]]]
    """Per data label and attribute the names of the classes, for scoring without loading data."""
    load: LoadSpec | None = None
    """The load users who ask the probes, if it is not the fleet."""
    shown: Annotated[int, Field(exclude_if=operator.not_)] = 0
    """How many spans attackers' own models show, each model for itself."""
    form: int = 1
    """Raised when trials need what earlier plans do not say: an older plan can be read, and not carried
    out."""

    @property
    def trained(self) -> list[PlannedModel | PlannedObfuscator]:
        """Everything that has to be trained."""
        return [*(each for each in self.models if each.remote is None), *self.shadows, *self.obfuscators]

    @cached_property
    def models_by_id(self) -> dict[str, PlannedModel]:
        """The models that are served, by their ids."""
        return {each.id: each for each in self.models}

    @cached_property
    def shadows_by_id(self) -> dict[str, PlannedModel]:
        """The attackers' own models, by their ids."""
        return {each.id: each for each in self.shadows}

    @cached_property
    def streams_by_id(self) -> dict[str, PlannedStream]:
        """The streams of users, by their ids."""
        return {each.id: each for each in self.streams}

    def steps(self) -> dict[str, int]:
        """Return how many steps of each kind are known beforehand. The number of fits and of students'
        hand-ins depends on answers: the trials stand for those."""
        trained = {each.artifact for each in self.trained}
        for model in self.models:
            trained |= {each.artifact for each in (model.teacher, model.extractor) if each is not None}
        counts = {
            TRAIN.name: len(trained),
            SHOW.name: self.shown,
            CRAFT.name: len(self.crafts),
            SERVE.name: len(self.models),
            STREAM.name: sum(len(stream.spans) for stream in self.streams if not stream.replays),
            PROBE.name: sum(len(probe.spans) for probe in self.probes if not probe.replays),
            REPLAY.name: sum(len(stream.spans) for stream in self.streams if stream.replays)
            + sum(len(probe.spans) for probe in self.probes if probe.replays),
        }
        return {kind: count for kind, count in counts.items() if count}

    def heads(self, model: PlannedModel) -> list[int]:
        """The numbers of classes of what a model is asked for."""
        return [len(self.classes[model.data][name]) for name in names(model.target)]

    def dumped(self) -> dict[str, Any]:
        """Return the plan without its trials, as it is stored; `stored` reads it."""
        return self.model_dump(mode="json", exclude={"trials"})

    @classmethod
    def stored(cls, stored: dict[str, Any] | None, trials: Iterable[dict[str, Any]] = ()) -> Plan:
        """Read the plan that was stored with a run, with those of its ``trials``. Raises `Conflict` if
        another version of Leakrange stored it, with another form of plans or recipes."""
        # One after the other: reading a large plan as a whole would stop all threads meanwhile.
        planned = [PlannedTrial.stored(each) for each in trials]
        try:
            return cls.model_validate(stored and stored | {"trials": planned})
        except (ValidationError, TypeError) as error:
            raise Conflict(ANOTHER_VERSION) from error

    def check_form(self) -> None:
        """Raise `Conflict` for a plan that this version cannot carry out."""
        if self.form != FORM:
            raise Conflict(ANOTHER_VERSION)
