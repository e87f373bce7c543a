"""Imputation by itself: what is guessed of users' attribute without the model."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import AttributeKind
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial
from leakrange.attacks.kinds.users import decisions_of, imputation_of
from leakrange.metrics import Guesses, measured
from leakrange.metrics.controls import ByItself
from leakrange.metrics.views import viewed
from leakrange.wire.errors import LeakrangeError

__all__ = ["ImputationKind"]


@kinds.register("imputation")
class ImputationKind(SilentKind):
    """The control beside every attack on an attribute, as a trial of its own. It asks nothing, and fits
    nothing in the fleet."""

    name: ClassVar[str] = "imputation"
    leakage: ClassVar[str] = "auc"
    asks = None

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The target of an attack on the attribute, which must not be public itself."""
        target = AttributeKind().target(attack, given, provider)
        if isinstance(target, str):
            return target
        for name in target.parameters.public:
            if name not in provider.attributes:
                return f"its data has no attribute {name!r}"
            if name == target.hidden:
                return f"{name!r} is hidden, and cannot be public"
        return target

    def plan(self, cell: Cell) -> Needs | None:
        """One stream of users, for their labels and decisions."""
        return Needs(streams=cell.uploads())

    def judge(self, trial: Trial) -> Judged:
        """Imputes each user's class from what other users show. Raises `LeakrangeError` where no user's class
        is known."""
        uploaded = trial.uploaded
        hidden = uploaded.truth(trial.hidden)
        users = np.flatnonzero(hidden[: trial.budget] >= 0)
        if len(users) == 0:
            raise LeakrangeError(f"no user's {trial.hidden!r} is known: there is nothing to judge by")
        ranking = imputation_of(trial, uploaded, trial.hidden, trial.classes, users)
        guesses = Guesses(ranking.scores.argmax(axis=1), hidden[users], trial.classes, ranking.group)
        decided = decisions_of(trial, uploaded, trial.budget)
        return Judged(
            metrics=measured(decided, guesses, ranking, ByItself()),
            views=viewed(guesses, ranking),
            victims=len(users),
            spent=0,
        )
