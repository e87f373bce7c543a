"""An audit: is the model trained for more than its task?"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.jobs.audit import Attribute, AuditPlan, ViciousnessSettings
from leakrange.jobs.recipe import DataSpec
from leakrange.strict import Strict

__all__ = ["AuditParameters", "TrainingAudit"]


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
