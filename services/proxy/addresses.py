"""The addresses behind a name: which there are, how busy each is, and which are left alone for a while."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from itertools import count

__all__ = ["Addresses", "ServerAddress"]

FRESH = 2.0
"""Seconds after which a name is looked up again, beside the requests."""
LEFT_ALONE = 3.0
"""Seconds for which an address that failed is asked only if no other is left."""


class ServerAddress:
    """One server behind a name, at ``host``."""

    __slots__ = ("busy", "host", "left_until", "turn")

    def __init__(self, host: str) -> None:
        self.host = host
        self.busy = 0
        """Requests on their way to it."""
        self.left_until = 0.0
        """Time of the event loop until which it is left alone."""
        self.turn = 0
        """The later it was chosen last, the greater."""


class _Name:
    """What a name means: its addresses, by themselves."""

    def __init__(self) -> None:
        self.addresses: dict[str, ServerAddress] = {}
        self.listed: list[ServerAddress] = []
        self.since = float("-inf")
        self.lookup: asyncio.Task[None] | None = None


class Addresses:
    """Finds and chooses servers by name, port and health. Replicas that come are found, and those that go
    forgotten, within `FRESH` seconds."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, int], _Name] = {}
        self._turns = count(1)

    def best(self, host: str, port: int, failed: Collection[ServerAddress]) -> ServerAddress | None:
        """The address to ask: the least busy of those that have not ``failed`` this request, by turns among
        equals, and one that is left alone only if there is no other. None if none is known."""
        name = self._names.get((host, port))
        if name is None:
            return None
        now = asyncio.get_running_loop().time()
        if now - name.since > FRESH:
            self._look_up(name, host, port)
        left = [each for each in name.addresses.values() if each not in failed] if failed else name.listed
        if len(left) < 2:  # the usual case
            return left[0] if left else None
        best = min(left, key=lambda each: (each.left_until > now, each.busy, each.turn))
        best.turn = next(self._turns)
        return best

    async def find(self, host: str, port: int, failed: Collection[ServerAddress]) -> ServerAddress | None:
        """The same once the name is looked up: nobody has asked it yet, or all its servers may have been
        replaced. Raises `OSError` where it has no address."""
        name = self._names.setdefault((host, port), _Name())
        try:
            await asyncio.shield(self._look_up(name, host, port))
        except OSError:
            if not name.addresses:
                raise
        return self.best(host, port, failed)

    def leave_alone(self, address: ServerAddress) -> None:
        """Note that it failed."""
        address.left_until = asyncio.get_running_loop().time() + LEFT_ALONE

    def _look_up(self, name: _Name, host: str, port: int) -> asyncio.Task[None]:
        if name.lookup is None or name.lookup.done():
            name.lookup = asyncio.create_task(_resolve(name, host, port))
            name.lookup.add_done_callback(lambda task: task.cancelled() or task.exception())
        return name.lookup


async def _resolve(name: _Name, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    try:
        places = await asyncio.to_thread(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    finally:
        name.since = loop.time()  # a name server that is away is not asked for every request
    known = name.addresses
    name.addresses = {
        ip: known.get(ip) or ServerAddress(ip) for ip in dict.fromkeys(str(p[4][0]) for p in places)
    }
    name.listed = list(name.addresses.values())
