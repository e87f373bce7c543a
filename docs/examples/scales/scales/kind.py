"""The kind of attack, whose plan asks for the step."""

from __future__ import annotations

from typing import Any, ClassVar

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import AskedStep, Cell, Needs, Offer
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.metrics import measured
from scales.metric import Weighed
from scales.step import WEIGH


@kinds.register("weighing")
class Weighing(SilentKind):
    name: ClassVar[str] = "weighing"
    leakage: ClassVar[str] = "weights"
    asks = None

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        return Target(attack, "weights", (), attack.Parameters.model_validate(given))

    def plan(self, cell: Cell) -> Needs | None:
        return Needs(
            steps={"scales": AskedStep(step=WEIGH.name, parameters=cell.target.parameters.model_dump())}
        )

    def judge(self, trial: Trial) -> Judged:
        return Judged(metrics=measured(Weighed(trial.taken("scales"))), views={}, victims=0, spent=0)
