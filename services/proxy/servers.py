"""Where the ledger is: one Redis server, a master that Sentinels name, or the masters of a cluster.

The URL says which:

    redis://USER:PASSWORD@HOST:PORT/0                     one server; also unix://
    redis+sentinel://USER:PASSWORD@HOST:PORT,…/NAME       the master NAME; the hosts are the Sentinels
    redis+cluster://USER:PASSWORD@HOST:PORT,…             a cluster; any of its nodes

With ``rediss`` in place of ``redis`` every connection is encrypted. Sentinels that want a password get it
from ``?sentinel_password=``, and ``?sentinel_username=``.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote

from redis.asyncio.connection import parse_url
from redis.crc import key_slot
from redis.exceptions import ConnectionError, RedisError

from leakrange.services.proxy.line import Address, Line, Words, open_line

__all__ = ["Cluster", "Sentinels", "Servers", "read_servers"]

PAUSE = 0.1
"""Seconds between two questions of who the masters are."""
_MANY = re.compile(r"(rediss?)\+(sentinel|cluster)://(?:([^@/]*)@)?([^/?]*)(?:/([^?]*))?(?:\?(.*))?")


class Servers:
    """One server. ``options`` are redis-py's of a connection; ``masters`` is who answers for a slot, as far
    as that is known."""

    clustered = False
    """Whether keys lie on several servers, each by its slot."""
    fixed = True
    """Whether the master never changes."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        place = options.get("path") or options.get("host", "localhost")
        self.masters = {0: Address(place, 0 if "path" in options else int(options.get("port", 6379)))}

    def slot(self, words: Words) -> int:  # noqa: ARG002 - a cluster needs it
        """The slot of the key that a command is about."""
        return 0

    async def master(self, slot: int, within: float) -> Address:  # noqa: ARG002 - others ask somebody
        """The master of a slot. Raises `RedisError` where nobody knows it ``within`` so many seconds."""
        return self.masters[slot]

    def doubt(self, address: Address) -> None:
        """Ask anew who the masters are before the next call: the one at ``address`` cannot be reached, or is
        none any more."""


class _Asking(Servers):
    """Masters that other servers name. Whoever answered last is asked first."""

    fixed = False

    def __init__(
        self, options: Mapping[str, Any], known: Sequence[Address], others: Mapping[str, Any]
    ) -> None:
        super().__init__(options)
        self.masters = {}
        self._known, self._others, self._lock = list(known), others, asyncio.Lock()
        self._asked = 0.0

    async def master(self, slot: int, within: float) -> Address:
        """See `Servers.master`."""
        async with self._lock:
            if slot not in self.masters:
                await asyncio.sleep(self._asked + PAUSE - time.monotonic())
                self._asked = time.monotonic()
                for place in list(self._known):
                    try:
                        line = await open_line(place, self._others, within / 4)
                        try:
                            self.masters = await self._ask(place, line)
                        finally:
                            line.close(ConnectionError("the question was answered"))
                        break
                    except RedisError:  # the next one may know
                        self._known.append(self._known.pop(0))
            if slot not in self.masters:
                raise ConnectionError("no master of the ledger is known")
            return self.masters[slot]

    async def _ask(self, place: Address, line: Line) -> dict[int, Address]:
        raise NotImplementedError

    def doubt(self, address: Address) -> None:
        """See `Servers.doubt`."""
        if address in self.masters.values():
            self.masters = {slot: each for slot, each in self.masters.items() if each != address}
            self._known.append(self._known.pop(0))  # another one may know more


class Sentinels(_Asking):
    """The master of that ``name``, as its Sentinels say."""

    def __init__(
        self, options: Mapping[str, Any], known: Sequence[Address], others: Mapping[str, Any], name: str
    ) -> None:
        super().__init__(options, known, others)
        self._name = name

    async def _ask(self, place: Address, line: Line) -> dict[int, Address]:
        answer = await line.call(("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._name))
        if answer is None:
            raise ConnectionError(f"the Sentinel at {place.host}:{place.port} knows no {self._name!r}")
        return {0: Address(answer[0].decode(), int(answer[1]))}


class Cluster(_Asking):
    """The masters of a cluster, by slot."""

    clustered = True

    def slot(self, words: Words) -> int:
        """See `Servers.slot`. Scripts have their keys behind their number."""
        return int(key_slot(str(words[3] if words[0] == "EVALSHA" else words[1]).encode()))

    async def _ask(self, place: Address, line: Line) -> dict[int, Address]:
        masters, known = dict[int, Address](), set(self._known)
        for first, last, *nodes in await line.call(("CLUSTER", "SLOTS")):
            # A node without a name of its own is where it was asked.
            addresses = [Address(node[0].decode() if node[0] else place.host, int(node[1])) for node in nodes]
            masters |= dict.fromkeys(range(first, last + 1), addresses[0])
            known.update(addresses)
        self._known += known.difference(self._known)
        return masters


def read_servers(url: str) -> Servers:
    """Who has the ledger, by its URL. Raises `ValueError`, which says what is wrong."""
    if "+" not in url.partition(":")[0]:
        return Servers(parse_url(url))
    if (match := _MANY.fullmatch(url)) is None:
        raise ValueError(
            "the ledger's URL is redis://HOST:PORT/0, redis+sentinel://HOST:PORT,HOST:PORT/NAME or"
            " redis+cluster://HOST:PORT,HOST:PORT; rediss instead of redis for TLS"
        )
    scheme, kind, user, hosts, path, query = match.groups()
    known = [_address(each, 26379 if kind == "sentinel" else 6379) for each in hosts.split(",")]
    base = f"{scheme}://{f'{user}@' if user else ''}{known[0].host}/0"
    special = {name: values[0] for name, values in parse_qs(query or "").items()}
    for_sentinels = {name: special.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    if special:
        base += "?" + "&".join(f"{name}={value}" for name, value in special.items())
    options = parse_url(base)
    name, _, database = unquote(path or "").partition("/")
    if kind == "cluster":
        if name not in ("", "0"):
            raise ValueError("a cluster has only the database 0: end the ledger's URL after the hosts")
        return Cluster(options, known, options)
    if not name or not (database or "0").isdigit():
        raise ValueError("name the master after the Sentinels, as in redis+sentinel://HOST:PORT/NAME")
    return Sentinels(
        {**options, "db": int(database or 0)}, known, {**options, "db": 0, **for_sentinels}, name
    )


def _address(text: str, port: int) -> Address:
    host, colon, number = text.rpartition(":") if re.search(r":\d*$", text) else (text, "", "")
    if not host or (colon and not 0 < int(number or 0) < 65536):
        raise ValueError(f"{text!r} is no HOST:PORT of the ledger's URL")
    return Address(host.strip("[]"), int(number or port))
