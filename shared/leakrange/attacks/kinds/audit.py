"""Audits of a provider's model, by a party who trusts neither its file nor who made it: is it trained for
more than its task?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import AskedStep, Cell, Needs, Offer
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.jobs.audit import Attribute, AuditPlan, ViciousnessSettings
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.audit import AUDIT
from leakrange.jobs.verdict import Verdict
from leakrange.metrics import measured
from leakrange.strict import Strict

__all__ = ["AuditKind", "AuditParameters", "TrainingAudit"]


class AuditParameters(Strict):
    """What `AuditPlan` says of them. With ``sensitive`` outputs are also searched for that attribute."""

    labelled: Annotated[int, Field(ge=20, le=100_000)] = 500
    labelled_from: Literal["auxiliary", "test"] = "auxiliary"
    test: Annotated[int, Field(ge=20, le=100_000)] = 1000
    viciousness: ViciousnessSettings = ViciousnessSettings()
    sensitive: Attribute | None = None

    def plan(self, data: DataSpec) -> AuditPlan:
        """The plan of an audit with samples of that data."""
        tests = ("viciousness", "entropy", *(("curiosity",) if self.sensitive else ()))
        return AuditPlan.model_validate({**self.model_dump(), "data": data, "tests": tests})


@attacks.register("audit")
class TrainingAudit(Attack):
    """The auditor downloads the model as any user does, and trains a copy of it further for its task alone.
    How far its outputs move tells whether it was trained for something else."""

    name: ClassVar[str] = "audit"
    summary: ClassVar[str] = "an auditor trains the downloaded model further: how far do its outputs move?"
    paper: ClassVar[str] = "VICIOUS"
    equation: ClassVar[str] = "Eq. 19, Eq. 20, Figure 6"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features")
    grants: ClassVar[tuple[str, ...]] = ("the model's file", "samples with labels of its task")
    kind: ClassVar[str] = "audit"
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = AuditParameters


HIDDEN = "behaviour"
"""The name of what is inferred, in results."""
VERDICT = "verdict"
"""The role of the audit that a trial asks for."""
VIEW = "further-training"


@kinds.register("audit")
class AuditKind(SilentKind):
    """Asks nothing and sees no uploads: the fleet downloads the model through the proxy."""

    name: ClassVar[str] = "audit"
    leakage: ClassVar[str] = "viciousness"
    asks = None

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The provider's behaviour; with a ``sensitive`` attribute that, as it is searched for as well."""
        parameters: Any = attack.Parameters.model_validate(given)
        if provider.service is not None:
            return f"it is a {provider.service.kind} service, whose model nobody can download"
        if parameters.labelled_from == "auxiliary" and not provider.data.auxiliary:
            return "its data keeps no auxiliary samples to train on; set 'labelled_from: test'"
        sensitive = parameters.sensitive
        if sensitive is None:
            return Target(attack, HIDDEN, (), parameters)
        if sensitive not in provider.attributes:
            return f"its data has no attribute {sensitive!r}"
        return Target(attack, sensitive, provider.attributes[sensitive].classes, parameters)

    def plan(self, cell: Cell) -> Needs | None:
        """Ask for no queries; return None under a defence. The provider's file is audited: neither what the
        proxy does to outputs nor what devices do to samples or to their own model changes it, so that the
        undefended case stands for all."""
        if cell.policy or cell.changes_devices:
            return None
        plan: AuditPlan = cell.target.parameters.plan(cell.data)
        return Needs(steps={VERDICT: AskedStep(step=AUDIT.name, parameters=plan.model_dump(mode="json"))})

    def judge(self, trial: Trial) -> Judged:
        """Return the verdict on each test. The view "further-training" is v after each ``rounds``, and the
        ``threshold``. ``victims`` are the samples that outputs were compared for."""
        verdict: Verdict = trial.taken(VERDICT)
        test = verdict.of("viciousness")
        views = {} if test is None else {VIEW: {"rounds": test.rounds, "threshold": test.threshold}}
        return Judged(
            metrics=measured(verdict),
            views=views,
            victims=verdict.material.test,
            spent=0,
        )
