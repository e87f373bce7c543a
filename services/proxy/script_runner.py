"""Lua scripts on Redis, by their digests."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from redis.exceptions import NoScriptError

from leakrange.services.proxy.limits import limit_kinds
from leakrange.services.proxy.line import LedgerError
from leakrange.services.proxy.names import PREFIX
from leakrange.services.proxy.pipe import Pipe


@dataclass(frozen=True)
class Script:
    """One of the scripts beside this module, behind their shared part and the kinds of limit."""

    name: str
    confirmed: bool = False
    """Whether what it does counts only once enough replicas have it."""

    @cached_property
    def source(self) -> str:
        """The Lua text."""
        folder = files("leakrange.services.proxy") / "scripts"
        # A branch for each kind: only those that a request needs are made.
        kinds = "\n".join(f"if name == '{kind}' then {limit_kinds[kind].script} end" for kind in limit_kinds)
        shared = (folder / "shared.lua").read_text().replace("--KINDS", kinds)
        return shared + (folder / f"{self.name}.lua").read_text()

    @cached_property
    def sha(self) -> str:
        """The name under which Redis caches it."""
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


class ScriptRunner:
    """Runs scripts atomically one by one; those that are called at the same time go in one round trip."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe, self.names = pipe, pipe.names

    async def run(self, script: Script, keys: Sequence[str], *arguments: Any) -> Any:
        """The script's result; ``keys`` are the names that it may need, where the ledger is a cluster. Raises
        the errors of Redis or of the connection. It is sent again only if Redis did not know the script."""
        words = ("EVALSHA", script.sha, len(keys), *keys, PREFIX, *arguments)
        try:
            return await self.pipe.call(*words, confirm=script.confirmed)
        except NoScriptError:  # Redis was restarted, or this is the first time
            await self.pipe.load(script.source)
            return await self.pipe.call(*words, confirm=script.confirmed)

    async def on_account(
        self, script: Script, id_: str, version: str, *arguments: Any, idempotency: str = ""
    ) -> tuple[bool, Any]:
        """The result of a script on the account of a key, and whether ``version`` of the configuration was
        still the current one. On one server the script sees to that, and does nothing where it was not. In a
        cluster the version lies elsewhere, so it is read at the same time."""
        names = self.names
        if not names.clustered:
            reply = await self.run(script, (), id_, version, *arguments)
            return reply[0] != b"stale", reply
        reply, current = await asyncio.gather(
            self.run(script, names.of_account(id_, idempotency), names.tagged(id_), version, *arguments),
            self.pipe.call("GET", names.version),
        )
        if reply[0] == b"unknown":
            raise LedgerError(f"the account of the key {id_!r} is lost, or was not created to its end")
        return (current or b"0").decode() == version, reply
