"""A budget in units: a release that tells more costs more of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import override

from leakrange.services.proxy.limits.base import Ask, Limit, Samples, limit_kinds
from leakrange.wire.administration import Endpoint

__all__ = ["Weighted"]

Cost = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


@limit_kinds.register("weighted")
class Weighted(Limit):
    """``units`` for each key that names the limit; a sample of an endpoint costs ``costs[endpoint]`` of them,
    or ``other``."""

    kind: ClassVar[str] = "weighted"
    summary: ClassVar[str] = (
        "so many units for each key, of which each endpoint costs its own number a sample"
    )

    units: Samples
    costs: Mapping[Endpoint, Cost] = {}
    other: Cost = 1

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        return ask.key, self.units, self.costs.get(ask.endpoint, self.other)
