"""A trial whose needs are met, made up: what a kind of attack is told of it, and what it has the fleet do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.trial import Fitted, Shown, Uploaded
from leakrange.data import Names
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.job import Span, Split
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.verdict import Verdict
from leakrange.wire.endpoints import ServiceSpec

__all__ = ["MadeUp", "MadeUpModel"]


@dataclass
class MadeUpModel:
    recipe: TrainingRecipe = field(
        default_factory=lambda: TrainingRecipe(data=DataSpec(name="digits"), behaviour="honest")
    )
    id: str = "p-s0"
    release: str = "logits"
    target: Names = "y"
    service: ServiceSpec | None = None


@dataclass
class MadeUp:
    attack: str = "a"
    hidden: str = "s"
    classes: int = 2
    parameters: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 4
    seed: int = 0
    needs: Needs = field(default_factory=Needs)
    model: MadeUpModel = field(default_factory=MadeUpModel)
    uploaded: Uploaded = field(default_factory=lambda: Uploaded([], np.zeros(0, np.int64), None))
    users: list[Span] = field(default_factory=list)
    observed: list[list[str]] = field(default_factory=list)
    undefended: list[list[str]] = field(default_factory=list)
    probes: Mapping[str, list[list[str]]] = field(default_factory=dict)
    trained_on: tuple[int, ...] = ()
    trained_for_defence: Sequence[Mapping[str, Any]] = ()
    """The records of obfuscators."""
    found: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What the fleet infers."""
    student: Uploaded | None = None
    """What becomes of a student's outputs."""
    verdict: Verdict | None = None
    audit: AuditPlan | None = None
    """What the auditor was asked."""
    evidence: BaseModel | None = None
    """What the fleet was given."""
    blind: Mapping[str, NDArray[Any]] | None = None
    """What a control says of the records of the pool; nothing by default."""
    controlled: BaseModel | None = None
    """What the control was given."""

    def answered(self, role: str) -> list[list[str]]:
        return self.probes.get(role, [])

    def answers(self, role: str) -> NDArray[np.float32]:
        return np.zeros((len(self.probes[role]), 2), dtype=np.float32)

    def members(self, pool: int) -> NDArray[np.bool_]:
        return np.isin(np.arange(pool), self.trained_on)

    def trained(self, split: Split) -> Mapping[str, float]:
        return {"honesty": 0.25, "samples": 40.0} if split == "validation" else {}

    def obfuscators(self) -> list[Mapping[str, Any]]:
        return list(self.trained_for_defence)

    async def shown(self, span: Span) -> list[Shown]:
        data = self.model.recipe.data
        return [Shown(data, f"{name} on {span.split}") for name in self.needs.shadows]

    async def fitted(self, evidence: BaseModel) -> Fitted:
        self.evidence = evidence
        return Fitted("f" * 64, self.found)

    async def control(self, name: str, evidence: BaseModel) -> Fitted:
        self.controlled, pool = evidence, 10_000
        nothing = {"scores": np.full(pool, 0.5), "group": np.arange(pool), "fold": np.zeros(pool, int)}
        return Fitted(name, self.blind or nothing)

    async def audited(self, plan: AuditPlan) -> Verdict:
        assert self.verdict is not None
        self.audit = plan
        return self.verdict

    async def handed_in(self, student: Fitted) -> Uploaded:
        assert student.arrays is self.found
        assert self.student is not None
        return self.student
