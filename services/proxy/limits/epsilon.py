"""A bound of the privacy loss: how much all answers together may tell of one training record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import override

from leakrange.defences.output.noisy_vote import epsilon_of, price_of
from leakrange.services.proxy.limits.base import Ask, Limit, limit_kinds
from leakrange.wire.errors import Forbidden

__all__ = ["Epsilon"]

UNIT = 1e-9
"""The ρ of one unit of the ledger, which counts in whole numbers: a price is rounded up, the bound down."""


@limit_kinds.register("epsilon")
class Epsilon(Limit):
    """The answers to each key that names the limit are (``epsilon``, ``delta``)-differentially private, all
    of them together, for replacing one training record; ``together``: those to all such keys.

    Each sample costs what its policy promises (`leakrange.defences.output.OutputDefence.price`), whatever the
    model; a request under a policy that promises nothing is refused. A key that asks two models that were
    trained on different data pays as if these were the same. Keys whose users share what they learn add up,
    unless the limit is ``together``.
    """

    kind: ClassVar[str] = "epsilon"
    summary: ClassVar[str] = "so much privacy loss of training records, which private answers add up to"
    transforms: ClassVar[bool] = True
    explanation: ClassVar[str] = (
        ": it bounds what all answers together tell of a training record (its epsilon), which no waiting"
        " lowers"
    )

    epsilon: Annotated[float, Field(gt=0, le=1000)]
    delta: Annotated[float, Field(ge=1e-12, lt=1)] = 1e-5
    together: bool = False

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        """See `Limit.fields`. Raises `Forbidden` for a request whose policy promises nothing."""
        if not math.isfinite(ask.price):
            raise Forbidden(
                f"a limit of this key counts privacy loss, and the answers of {ask.model!r} at"
                f" {ask.endpoint!r} are not private",
                hint="the operator binds a policy there that begins with noisy-vote",
            )
        total, cost = price_of(self.epsilon, self.delta) / UNIT, ask.price / UNIT
        return "all" if self.together else ask.key, math.floor(total), math.ceil(cost)

    @override
    def spent(self, used: Mapping[str, int]) -> dict[str, float]:
        """See `Limit.spent`; at the limit's δ."""
        return {name: epsilon_of(units * UNIT, self.delta) for name, units in used.items()}
