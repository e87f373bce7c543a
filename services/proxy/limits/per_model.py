"""A budget of each key for each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from leakrange.services.proxy.limits.base import Ask, Limit, Samples, limit_kinds

__all__ = ["PerModel"]


@limit_kinds.register("per-model")
class PerModel(Limit):
    """``samples`` of each model for each key that names the limit."""

    kind: ClassVar[str] = "per-model"
    summary: ClassVar[str] = "so many samples of each model for each key"

    samples: Samples

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        return f"{ask.key} {ask.model}", self.samples, 1
