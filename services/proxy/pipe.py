"""All calls to the ledger: one connection to each server of it that is needed."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from redis.exceptions import AskError, ConnectionError, MovedError, ReadOnlyError, RedisError, TryAgainError

from leakrange.services.proxy.line import Address, Line, open_line
from leakrange.services.proxy.names import LedgerNames
from leakrange.services.proxy.servers import read_servers

__all__ = ["Pipe"]

PAUSE = 0.02
"""Seconds before a command is sent again that a server refused to begin."""


class Pipe:
    """Calls to the ledger at ``url`` (`leakrange.services.proxy.servers`); connects when first needed.

    What is to be confirmed counts as done once so many ``replicas`` have it. After ``timeout`` seconds
    without an answer, or when a connection is lost, all calls fail that wait on it. No call is ever sent
    twice, since it may have been carried out, except where a server says that it did not begin: it is not, or
    not any more, the master of the key.
    """

    def __init__(self, url: str, timeout: float, replicas: int = 0) -> None:
        self.servers, self._timeout, self.replicas = read_servers(url), timeout, replicas
        self.names = LedgerNames(self.servers.clustered)
        self._lines: dict[Address | None, Line] = {}
        self._connecting: defaultdict[Address, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def call(self, *words: str | bytes | int | float, confirm: bool = False) -> Any:
        """Redis' answer to a command about its first argument, or to a script about keys of one slot.

        Raises `RedisError` or `OSError`: an error of Redis, or of the connection; `NotConfirmed` where it was
        carried out and is to ``confirm``, and too few replicas have it.
        """
        slot = self.servers.slot(words)
        until = 0.0
        while True:
            line = self._lines.get(self.servers.masters.get(slot))
            if line is None or line.closed:
                line = await self._connected(slot)
            try:
                if confirm and self.replicas:
                    return (await asyncio.gather(line.call(words), line.confirmed(self.replicas)))[0]
                return await line.call(words)
            except (AskError, TryAgainError, ReadOnlyError) as error:
                now = asyncio.get_running_loop().time()
                until = until or now + self._timeout
                if now > until:
                    raise
                if isinstance(error, AskError) and not isinstance(error, MovedError):
                    try:
                        return await self._asking(Address(*error.node_addr), words, confirm)
                    except TryAgainError:
                        pass
                await self._refused(slot, line, error)

    async def _asking(self, address: Address, words: tuple[Any, ...], confirm: bool) -> Any:
        """Call the server to which the key is just being moved."""
        line = await self._open(address)
        calls: list[asyncio.Future[Any]] = [line.call(("ASKING",)), line.call(words)]
        if confirm and self.replicas:
            calls.append(line.confirmed(self.replicas))
        return (await asyncio.gather(*calls))[1]

    async def _refused(self, slot: int, line: Line, error: RedisError) -> None:
        """Find out who is to be asked instead of ``line``."""
        if isinstance(error, MovedError):
            host, port = error.node_addr
            self.servers.masters[slot] = Address(host or self.servers.masters[slot].host, port)
            return
        if isinstance(error, ReadOnlyError):  # it was the master
            line.close(ConnectionError("the server is a replica now"))
            if (address := self.servers.masters.get(slot)) is not None:
                self.servers.doubt(address)
        await asyncio.sleep(PAUSE)

    async def load(self, script: str) -> None:
        """Have every server that is in use know a script."""
        lines = [line for line in self._lines.values() if not line.closed]
        await asyncio.gather(
            *(line.call(("SCRIPT", "LOAD", script)) for line in lines), return_exceptions=True
        )

    async def close(self) -> None:
        """Close the connections."""
        for line in self._lines.values():
            line.close(ConnectionError("the proxy is stopping"))

    async def _connected(self, slot: int) -> Line:
        address = await self.servers.master(slot, self._timeout)
        try:
            return await self._open(address)
        except ConnectionError:
            self.servers.doubt(address)
            raise

    async def _open(self, address: Address) -> Line:
        async with self._connecting[address]:
            line = self._lines.get(address)
            if line is None or line.closed:
                line = self._lines[address] = await open_line(address, self.servers.options, self._timeout)
            return line
