"""The host names that a server answers to, and the pages that may call it.

A foreign page can point its own name at this machine (DNS rebinding); the browser then lets it read the
answers. But the browser sends that name as ``Host``, so foreign names are refused.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from leakrange.service.bodies import refuse_early
from leakrange.wire.errors import ForeignOrigin, LeakrangeError, WrongHost

__all__ = ["HostGuard"]

HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:\[\]@/]+))(?::\d+)?", re.IGNORECASE)
REMEMBERED = 64
"""Values of ``Host`` that were let through and are not looked at again."""


class HostGuard:
    """Passes requests to ``app`` whose ``Host`` is ``localhost``, a loopback address, the address that
    they came to or that it listens at (``host``), or one of ``allowed``: names, ``*.name`` for all below
    it, ``*`` for any. The port does not matter.

    An ``Origin`` must be that same host and port, or one of ``allowed``, at the port that is named there, and
    without one at the default port: another port of the same host belongs to somebody else.
    """

    def __init__(self, app: ASGIApp, allowed: Iterable[str], host: str = "localhost") -> None:
        self._app = app
        self._origins = {name.strip().lower() for name in allowed}
        self._any = "*" in self._origins
        self._below = tuple(name[1:] for name in self._origins if name.startswith("*."))
        self._names = {_name(name.encode()) for name in self._origins} | {host.lower()}
        self._seen: set[tuple[bytes, str | None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] == "http" and not self._any and (error := self._fault(scope)):
            return await refuse_early(error, scope, receive, send)
        return await self._app(scope, receive, send)

    def _fault(self, scope: Scope) -> LeakrangeError | None:
        here = scope["server"][0] if scope["server"] else None
        host = origin = None
        for name, value in scope["headers"]:
            if name == b"host":
                if host is not None and value != host:
                    return _wrong(value)
                host = value
            elif name == b"origin":
                origin = value
        if host is None:
            return _wrong(b"")
        if (host, here) not in self._seen:
            hostname = _name(host)
            if hostname is None or not (
                self._allowed(hostname) or hostname == here or _is_loopback(hostname)
            ):
                return _wrong(host)
            if len(self._seen) < REMEMBERED:
                self._seen.add((host, here))
        if origin is None or (theirs := origin.partition(b"://")[2]).lower() == host.lower():
            return None
        if _name(theirs) is not None and self._shares(theirs.decode("latin-1").lower()):
            return None
        return ForeignOrigin(
            f"pages of {origin[:100].decode('latin-1')!r} may not ask this server",
            hint="LEAKRANGE_ALLOWED_HOSTS names the hosts, and ports, whose pages may",
            headers={"Connection": "close"},
        )

    def _allowed(self, name: str) -> bool:
        return name in self._names or name.endswith(self._below)

    def _shares(self, origin: str) -> bool:
        """Return whether pages of that host (with its port, unless it is the default one) may call this
        server."""
        return origin in self._origins or origin.endswith(self._below)


def _name(host: bytes) -> str | None:
    """Return the name of ``host[:port]`` in lower case, an IPv6 address without brackets; None if
    malformed."""
    match = HOST.fullmatch(host.decode("latin-1"))
    return None if match is None else (match[1] or match[2]).lower().rstrip(".")


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _wrong(host: bytes) -> WrongHost:
    return WrongHost(f"this server is not {host[:100].decode('latin-1')!r}", headers={"Connection": "close"})
