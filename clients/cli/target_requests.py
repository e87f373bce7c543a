"""Asks a target from this machine, as the proxy does from its own: with its credentials, and without
following any redirect."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import aiohttp

from leakrange.client.waiting import wait
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.targets.credentials import Credentials
from leakrange.targets.dialogue import TargetCall, TargetReply
from leakrange.targets.sending import send
from leakrange.targets.target import RemoteTarget
from leakrange.wire.errors import InvalidInput
from leakrange.wire.transport import in_words

__all__ = ["Exchange", "converse", "request"]

MOST_BYTES = 16 * 2**20
"""The longest answer that is read."""
SHOWN = 600
"""Bytes of an answer that are shown."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Exchange:
    """A request, and the answer to it. ``hidden`` puts names in the place of secrets that a text repeats."""

    call: TargetCall
    status: int
    reply: TargetReply
    seconds: float
    hidden: Callable[[str], str]

    def summary(self) -> str:
        """One line, such as "POST http://127.0.0.1:1/score: 84 bytes sent, 200 and 63 bytes back in 3 ms"."""
        sent, came = len(self.call.body or b""), len(self.reply.body)
        spent = f"{1000 * self.seconds:.0f} ms"
        back = f"{self.status} and {came} bytes back in {spent}"
        return f"{self.call.method} {self.call.url}: {sent} bytes sent, {back}"

    def answer(self) -> str:
        """The beginning of the answer as text, without any secret that it repeats."""
        text = self.hidden(self.reply.body.decode("utf-8", "replace"))
        return text if len(text) <= SHOWN else text[:SHOWN] + " …"


def converse(
    target: RemoteTarget,
    talk: Generator[TargetCall, TargetReply, Result],
    heard: Callable[[Exchange], None],
    environment: Mapping[str, str] = os.environ,
) -> Result:
    """Send every request of ``talk``, tell ``heard`` of each answer, and return what the talk comes to.

    Raises `CliError` for a variable that is not set, a server that is away, and a status that is no success;
    `InvalidInput` for an answer that does not fit the target's file.
    """
    call = next(talk)
    while True:
        exchange = request(target, call, environment)
        heard(exchange)
        _accept(exchange)
        try:
            call = talk.send(exchange.reply)
        except StopIteration as end:
            result: Result = end.value
            return result
        except InvalidInput as error:  # which may quote the answer
            error.detail = exchange.hidden(error.detail)
            raise


def request(target: RemoteTarget, call: TargetCall, environment: Mapping[str, str] = os.environ) -> Exchange:
    """Send one request, and return the answer whatever its status. Raises `CliError`."""
    if missing := sorted(target.variables - environment.keys()):
        raise CliError(
            f"the environment variable {missing[0]} is not set, and the target's file names it",
            code=Exit.USAGE,
            hint=f"export {missing[0]}=…; it has to be set where the proxy runs, too",
        )
    return wait(_sent(target, call, environment))


async def _sent(target: RemoteTarget, call: TargetCall, environment: Mapping[str, str]) -> Exchange:
    credentials, begun = Credentials(environment), time.monotonic()
    try:
        async with aiohttp.ClientSession(
            headers={"User-Agent": "leakrange"}, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            status, reply = await send(session, credentials, target, call, most=MOST_BYTES)
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise CliError(
            f"no answer from {call.url}: {in_words(error)}",
            code=Exit.UNREACHABLE,
            hint="is its server up, and the address in the file right?",
        ) from error
    return Exchange(call, status, reply, time.monotonic() - begun, partial(credentials.hidden, target))


def _accept(exchange: Exchange) -> None:
    """Raise `CliError` for an answer that is no success."""
    status, url = exchange.status, exchange.call.url
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        where = exchange.hidden(exchange.reply.headers.get("location", "nowhere"))[:200]
        raise CliError(
            f"{url} redirects to {where}, which is not followed",
            code=Exit.FAILED,
            hint="write the address that it leads to into the file, if you trust it",
        )
    hints = {
        401: "it does not know who asks: see 'headers' and 'authentication' in the file",
        403: "it does not allow this: see 'headers' and 'authentication' in the file",
        404: "nothing is at this address: compare it with the server's documentation",
        429: "it asks for patience: try again later, and set 'rate' in the file's limits",
    }
    raise CliError(
        f"{url} answered {status}", code=Exit.FAILED, hint=hints.get(status, "its answer says why")
    )
