"""Controls as trials of their own: what is guessed of users' attribute, and of membership, without the
model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Attack
from leakrange.attacks.controls import blind_scores, pooled
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import AttributeKind
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.membership import Drawn, MembershipKind, blind_fit, blindly, judge_members
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Fit, Judged, Trial
from leakrange.attacks.kinds.users import decisions_of, imputation_of
from leakrange.data import POOL, load
from leakrange.data.resembling import groups_of
from leakrange.data.splits import connected
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Guesses, measured
from leakrange.metrics.controls import ByItself
from leakrange.metrics.views import viewed
from leakrange.wire.errors import LeakrangeError

__all__ = ["BlindKind", "ImputationKind"]


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


@kinds.register("blind")
class BlindKind(SilentKind):
    """The control beside every attack on membership, and a trial of its own. It asks nothing; unlike an
    attack its fit knows who of the others is a member."""

    name: ClassVar[str] = "blind"
    leakage: ClassVar[str] = "auc"
    asks = None
    Evidence: ClassVar[type[BaseModel]] = Drawn

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The target of an attack on membership of records."""
        return MembershipKind().target(attack, given, provider)

    def plan(self, cell: Cell) -> Needs | None:
        """Ask for users' uploads, for the honesty of the decisions."""
        subset = cell.provider.data.subset
        assert subset is not None  # else it has no target
        return Needs(streams=cell.uploads(), asked={"pool": subset.pool})

    def infer(
        self,
        attack: Any,  # noqa: ARG002
        evidence: Drawn,
        job: FitJob,  # noqa: ARG002
        releases: ReleaseStore,  # noqa: ARG002
    ) -> dict[str, NDArray[Any]]:
        """For the pool (N,): ``scores`` float32, the ``fold`` of each record, and ``group``, equal for
        records that resemble each other. People of a crowd get the mean of their pictures' scores."""
        data = load(evidence.data)
        rows, members = data.where(POOL), data.members()
        group = groups_of(data)[rows]
        if evidence.data.crowd is not None:
            group = connected(group, data.labels["person"][rows])
        scores, fold = blind_scores(pooled(data.values[rows], data.spec), members, group)
        if evidence.data.crowd is not None:
            scores = (np.bincount(group, weights=scores) / np.bincount(group))[group]
        return {"scores": scores.astype(np.float32), "fold": fold, "group": group}

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The control."""
        return blind_fit(trial)

    def judge(self, trial: Trial) -> Judged:
        """Compares the scores with the record of what the model was trained on."""
        members = trial.members(int(trial.needs.asked["pool"]))
        blind = blindly(trial, members, np.arange(len(members)))
        return judge_members(
            trial,
            blind.scores,
            members,
            utility=measured(decisions_of(trial, trial.uploaded), ByItself()),
            group=blind.group,
            fold=blind.fold,
            spent=0,
        )
