"""Lua scripts on Redis: all that wait at a time go in one round trip."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from services.proxy.limits import limit_kinds

MOST_AT_ONCE = 64


@dataclass(frozen=True)
class Script:
    """One of the scripts beside this module, after what they share and the kinds of limit."""

    name: str

    @cached_property
    def source(self) -> str:
        """The Lua text."""
        folder = files("services.proxy") / "scripts"
        # A branch for each kind: only those that a request needs are made.
        kinds = "\n".join(f"if name == '{kind}' then {limit_kinds[kind].script} end" for kind in limit_kinds)
        shared = (folder / "shared.lua").read_text().replace("--KINDS", kinds)
        return shared + (folder / f"{self.name}.lua").read_text()

    @cached_property
    def sha(self) -> str:
        """The name under which Redis caches it."""
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class _Call:
    script: Script
    arguments: tuple[Any, ...]
    result: asyncio.Future[Any]


class ScriptRunner:
    """Runs scripts atomically one by one, but sends together what is waiting; no call waits for others.

    A call costs a connection's bookkeeping, timeouts and wake-ups; with many clients that is most of what
    asking Redis costs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: list[_Call] = []
        self._sender: asyncio.Task[None] | None = None

    async def run(self, script: Script, *arguments: Any) -> Any:
        """The script's result; raises what Redis or the connection raises. It is never sent twice, unless
        Redis said that it did not know it."""
        loop = asyncio.get_running_loop()
        call = _Call(script, arguments, loop.create_future())
        self._waiting.append(call)
        if self._sender is None or self._sender.done():
            self._sender = loop.create_task(self._send_all())
        return await call.result

    async def _send_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            try:
                unknown = await self._send(batch)
                if unknown:  # Redis was restarted, or this is the first time
                    for script in {call.script for call in unknown}:
                        await self._redis.script_load(script.source)
                    for call in await self._send(unknown):
                        _fail([call], NoScriptError("Redis forgets its scripts"))
            except (RedisError, OSError) as error:
                _fail(batch, error)

    async def _send(self, batch: list[_Call]) -> list[_Call]:
        """Settle each call of the batch; returns those whose script Redis does not know."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for call in batch:
                pipeline.execute_command("EVALSHA", call.script.sha, 0, *call.arguments)
            results = await pipeline.execute(raise_on_error=False)
        unknown = []
        for call, result in zip(batch, results, strict=True):
            if isinstance(result, NoScriptError):
                unknown.append(call)
            elif isinstance(result, Exception):
                _fail([call], result)
            elif not call.result.done():  # its caller may have been cancelled
                call.result.set_result(result)
        return unknown


def _fail(calls: list[_Call], error: Exception) -> None:
    for call in calls:
        if not call.result.done():
            call.result.set_exception(error)
