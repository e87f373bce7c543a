"""A trial whose needs are met, made up: what a kind of attack is told of it, and what it has the fleet do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.kind import Kind
from leakrange.attacks.kinds.trial import ATTACK, Fit, Fitted, Judged, Shown, Uploaded
from leakrange.data import Names
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.samples import Span, Split
from leakrange.wire.endpoints import ServiceSpec

__all__ = ["MadeUp", "MadeUpModel", "judged_by"]


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
    ledger: Mapping[str, float] = field(default_factory=dict)
    trained_for_defence: Sequence[Mapping[str, Any]] = ()
    """The records of obfuscators."""
    found: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What the fleet infers."""
    student: Uploaded | None = None
    """What becomes of a student's outputs."""
    steps_taken: Mapping[str, Any] = field(default_factory=dict)
    evidence: BaseModel | None = None
    """What the fleet was given."""
    blind: Mapping[str, NDArray[Any]] | None = None
    """What a control says of the records of the pool; nothing by default."""
    results: Mapping[str, Fitted] = field(default_factory=dict)
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

    def promised(self) -> Mapping[str, float]:
        return self.ledger

    def obfuscators(self) -> list[Mapping[str, Any]]:
        return list(self.trained_for_defence)

    def shown(self, span: Span) -> list[Shown]:
        data = self.model.recipe.data
        return [Shown(data, f"{name} on {span.split}") for name in self.needs.shadows]

    def taken(self, role: str) -> Any:
        return self.steps_taken[role]

    def fit(self, fit: Fit) -> Fitted:
        """What the fleet makes of it."""
        if not fit.by:
            self.evidence = fit.evidence
            return Fitted("f" * 64, self.found)
        self.controlled, pool = fit.evidence, 10_000
        nothing = {"scores": np.full(pool, 0.5), "group": np.arange(pool), "fold": np.zeros(pool, int)}
        return Fitted(fit.by, self.blind or nothing)

    def fitted(self, role: str = ATTACK) -> Fitted:
        return self.results[role]

    @property
    def handed_in(self) -> Uploaded:
        assert self.student is not None
        return self.student


def judged_by(kind: Kind, trial: MadeUp) -> Judged:
    """What the kind makes of the trial, when the fleet has been given what it fits."""
    trial.results = {role: trial.fit(fit) for role, fit in kind.fits(trial).items()}
    return kind.judge(trial)
