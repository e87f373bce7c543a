"""One request to a target over a connection: with its credentials, following nothing, and bounded."""

from __future__ import annotations

from typing import NamedTuple

import aiohttp

from leakrange.targets.credentials import Credentials, whole_body
from leakrange.targets.dialogue import TargetCall, TargetReply
from leakrange.targets.target import RemoteTarget

__all__ = ["Sent", "send"]


class Sent(NamedTuple):
    """The answer to a request, whatever its status."""

    status: int
    reply: TargetReply


async def send(
    session: aiohttp.ClientSession,
    credentials: Credentials,
    target: RemoteTarget,
    call: TargetCall,
    *,
    most: int,
) -> Sent:
    """Send one request, and read at most ``most`` bytes of its answer.

    Raises `InvalidInput` for credentials that are missing or refused, `UpstreamFailed` for a longer answer,
    and what aiohttp raises for a connection.
    """
    headers = await credentials.headers(session, target, call)
    request = session.request(
        call.method,
        call.url,
        headers=headers,
        data=call.body,
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=target.limits.timeout, sock_connect=5.0),
        ssl=credentials.tls(target),
    )
    async with request as response:
        body = await whole_body(response, most)
        named = {name.lower(): value for name, value in response.headers.items()}
        return Sent(response.status, TargetReply(named, body))
