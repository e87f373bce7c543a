"""Limits of a cluster, where each lies in a slot of its own: charged one by one after the account.

The account comes first: whoever it refuses costs the limits nothing. Where a limit refuses, what was charged
elsewhere is given back. Where a proxy dies in between, or the answer of a server is lost, what it had charged
under limits stays spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import structlog
from redis.exceptions import RedisError

from leakrange.services.proxy.limits.base import NO_BOUNDS, Bounds, limit_kinds
from leakrange.services.proxy.script_runner import Script, ScriptRunner

__all__ = ["SpreadLimits", "Taken"]

LIMIT = Script("limit", confirmed=True)

log = structlog.get_logger("leakrange.proxy")


Asking = tuple[str, int, str]
"""The key's id, the samples, and the name of a charge."""


class Taken(NamedTuple):
    """What one limit was charged: its name, its fields as the script takes them, what it allows in all and
    has left (``limit`` None: nothing), and the number that it told."""

    name: str
    fields: Sequence[str | int]
    limit: int | None
    remaining: int
    number: int | None


class SpreadLimits:
    """Charges limits that lie elsewhere than the account."""

    def __init__(self, scripts: ScriptRunner) -> None:
        self._scripts, self._names = scripts, scripts.names

    def divide(self, bounds: Bounds) -> tuple[Bounds, Bounds]:
        """The limits that the account's script charges, and those that lie elsewhere."""
        return (NO_BOUNDS, bounds) if self._names.clustered else (bounds, NO_BOUNDS)

    async def take(self, asking: Asking, bounds: Bounds) -> tuple[list[Taken], list[Any] | None]:
        """Charge all limits, or none: what each was charged, or the refusal of one as the scripts tell it.
        Raises `RedisError` or `OSError` where a limit may have been charged; then what was charged stays."""
        replies = await asyncio.gather(*(self._run(asking, fields, "take") for fields in bounds.each))
        taken, refusal = list[Taken](), None
        for name, fields, (outcome, *rest) in zip(bounds.names, bounds.each, replies, strict=True):
            if outcome == b"exhausted":
                refusal = refusal or [*rest[:4], name.encode(), rest[5]]
                continue
            total, left, (number,) = rest[1:]
            taken.append(Taken(name, fields, total, left, number))
        if refusal is not None:
            await self.give(asking, taken)
        return taken, refusal

    async def give(self, asking: Asking, taken: Sequence[Taken]) -> None:
        """Undo charges. What cannot be undone stays spent: to do it again could undo it twice."""
        gone = await asyncio.gather(
            *(self._run(asking, each.fields, "give") for each in taken), return_exceptions=True
        )
        for each, result in zip(taken, gone, strict=True):
            if isinstance(result, RedisError | OSError):
                log.warning("a limit was not given back", limit=each.name, samples=asking[1])
            elif isinstance(result, BaseException):
                raise result

    async def _run(self, asking: Asking, fields: Sequence[str | int], act: str) -> Any:
        kind, name, *rest = fields
        further = limit_kinds[str(kind)].further([str(each) for each in rest[:1]])
        keys = self._names.limit(str(name), further)
        words = (kind, self._names.tagged(str(name)), *rest)
        return await self._scripts.run(LIMIT, keys, *asking, act, 1, len(words), *words)
