"""Lua scripts on Redis, by their digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from redis.exceptions import NoScriptError

from leakrange.services.proxy.limits import limit_kinds
from leakrange.services.proxy.pipe import Pipe


@dataclass(frozen=True)
class Script:
    """One of the scripts beside this module, behind their shared part and the kinds of limit."""

    name: str

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
        self._pipe = pipe

    async def run(self, script: Script, *arguments: Any) -> Any:
        """The script's result. Raises the errors of Redis or of the connection. It is sent again only if
        Redis did not know the script."""
        try:
            return await self._pipe.call("EVALSHA", script.sha, 0, *arguments)
        except NoScriptError:  # Redis was restarted, or this is the first time
            await self._pipe.call("SCRIPT", "LOAD", script.source)
            return await self._pipe.call("EVALSHA", script.sha, 0, *arguments)
