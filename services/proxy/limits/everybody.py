"""One budget for all keys together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from leakrange.services.proxy.limits.base import Ask, Limit, Samples, limit_kinds

__all__ = ["Global"]


@limit_kinds.register("global")
class Global(Limit):
    """``samples`` for all keys that name the limit together."""

    kind: ClassVar[str] = "global"
    summary: ClassVar[str] = "so many samples for all keys together"

    samples: Samples

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        return "all", self.samples, 1
