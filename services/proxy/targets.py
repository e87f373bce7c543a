"""Asks targets, models that somebody else serves: within their limits, and patient where they ask for it."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import aiohttp
import numpy as np
import structlog
from numpy.typing import NDArray

from leakrange.services.proxy.metrics import Metrics
from leakrange.services.proxy.names import PREFIX
from leakrange.services.proxy.pipe import Pipe
from leakrange.services.proxy.redis_client import redis_errors
from leakrange.services.proxy.script_runner import Script, ScriptRunner
from leakrange.services.proxy.settings import ProxySettings
from leakrange.targets.credentials import Credentials
from leakrange.targets.dialogue import Refused, TargetCall, TargetReply, dialogue
from leakrange.targets.sending import send
from leakrange.targets.target import RemoteTarget
from leakrange.wire.administration import TargetHealth
from leakrange.wire.errors import (
    BudgetExhausted,
    Forbidden,
    InFlight,
    InvalidInput,
    LeakrangeError,
    UpstreamFailed,
)
from leakrange.wire.tensors import encode_npy, npy_view
from leakrange.wire.transport import in_words

__all__ = ["TargetCounts", "TargetFailed", "TargetSpent", "Targets"]

log = structlog.get_logger("leakrange.proxy.targets")
TAKE = Script("target", confirmed=True)
PARTS_SECONDS = 3600
"""Seconds for which parts of an answer are kept for a request that comes again."""
TRIES = 4
"""Attempts of a request whose answer was lost, or that a server failed to answer."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
ONE_COMPLAINT = 0.2
"""Seconds within which a target that asks for patience again means the same requests."""


class TargetSpent(BudgetExhausted):
    """429: the cap of samples or money in the target's file is reached."""

    slug, title = "target-spent", "The target's cap is reached"
    default_hint = "raise 'samples' or 'money' in the target's limits, if its owner agrees"


class TargetFailed(LeakrangeError):
    """502: a target gave no answer that can be used. The words are for the operator, who wrote its file;
    ``away`` says that it did not answer at all."""

    status, slug, title = 502, "target-failed", "The target failed"

    def __init__(self, detail: str, *, hint: str | None = None, away: bool = False) -> None:
        super().__init__(detail, hint=hint)
        self.away = away


class TargetCounts(NamedTuple):
    """What a target was asked, in samples: those of requests that failed and were repeated count as sent."""

    sent: int
    answered: int
    requests: int


class Targets:
    """The connections to all targets, open in an ``async with`` block. Several proxies share the counts and
    the pace of a target."""

    _session: aiohttp.ClientSession

    def __init__(
        self,
        pipe: Pipe,
        metrics: Metrics,
        settings: ProxySettings,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._pipe, self._scripts, self._metrics = pipe, ScriptRunner(pipe), metrics
        self._settings, self._credentials = settings, Credentials(environment)
        self._paces: dict[str, _Pace] = {}

    async def __aenter__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._settings.upstream_connections),
            headers={"User-Agent": "leakrange-proxy"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def release(
        self, target: RemoteTarget, samples: NDArray[Any], name: bytes | None
    ) -> NDArray[np.float32]:
        """The release (B, N) of ``samples``, or of pairs of them, asked in batches.

        What has been answered is kept under ``name`` for a while, if there is one: a request that comes again
        goes on there. How it ended is kept for `health`. Raises `InFlight` where it takes longer than a
        request may; `TargetSpent`, `Forbidden` after the end of the authorisation, and `TargetFailed`.
        """
        if target.until is not None and datetime.date.today() > target.until:
            raise Forbidden(
                f"the authorisation of the target {target.name!r} ended on {target.until}",
                hint="ask its owner for a new one, and PUT the target again",
            )
        try:
            values = await self._in_batches(target, samples, name)
        except TargetFailed as error:
            await self._remember(target, "failed", str(time.time()), "failure", error.detail)
            raise
        await self._remember(target, "succeeded", str(time.time()))
        return values

    async def _in_batches(
        self, target: RemoteTarget, samples: NDArray[Any], name: bytes | None
    ) -> NDArray[np.float32]:
        begun, size = time.monotonic(), target.batch
        batches = [samples[start : start + size] for start in range(0, len(samples), size)]
        within = self._settings.upstream_timeout - 1.0
        tasks = [
            asyncio.create_task(self._part(target, batch, name, place)) for place, batch in enumerate(batches)
        ]
        try:
            done, waiting = await asyncio.wait(tasks, timeout=within, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()  # or its error
            if not waiting:
                return np.concatenate([task.result() for task in tasks])
            if name is None or not done:
                raise TargetFailed(
                    f"{len(done)} of {len(tasks)} requests were answered within {within:g} s",
                    hint="ask for fewer samples at a time, or with an Idempotency-Key",
                )
            left = (time.monotonic() - begun) / len(done) * len(waiting)
            raise InFlight(
                f"{len(done)} of {len(tasks)} requests to the target are answered",
                held=2.0 * left + within,
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def counts(self, target: RemoteTarget) -> TargetCounts:
        """What the target was asked since it is known here."""
        with redis_errors():
            stored = await self._pipe.call("HMGET", _counts(target), "sent", "answered", "requests")
        return TargetCounts(*(int(each or 0) for each in stored))

    async def health(self, target: RemoteTarget) -> TargetHealth:
        """How the target fared when it was last asked."""
        with redis_errors():
            stored = await self._pipe.call("HMGET", _counts(target), "succeeded", "failed", "failure")
        answered, failed, failure = stored
        return TargetHealth(
            answered=None if answered is None else float(answered),
            failed=None if failed is None else float(failed),
            failure=None if failure is None else failure.decode(),
        )

    async def _remember(self, target: RemoteTarget, *pairs: str) -> None:
        with redis_errors():
            await self._pipe.call("HSET", _counts(target), *pairs)

    async def _part(
        self, target: RemoteTarget, batch: NDArray[Any], name: bytes | None, place: int
    ) -> NDArray[np.float32]:
        """The release of one batch, from what is kept or from the target."""
        kept = None if name is None else _part_of(name, target, place, batch)
        with redis_errors():
            stored = None if kept is None else await self._pipe.call("GET", kept)
        if stored is not None:
            return np.array(npy_view(stored), np.float32)
        values = await self._asked(target, batch)
        with redis_errors():
            await self._pipe.call("HINCRBY", _counts(target), "answered", len(batch))
            if kept is not None:
                await self._pipe.call("SET", kept, encode_npy(values), "EX", PARTS_SECONDS)
        return values

    async def _asked(self, target: RemoteTarget, batch: NDArray[Any]) -> NDArray[np.float32]:
        pace = self._paces.setdefault(target.digest(), _Pace(target.limits.concurrency))
        async with pace:
            talk = dialogue(target, batch)
            try:
                call = next(talk)
                while True:
                    call = talk.send(await self._answer(target, call, len(batch), pace))
            except StopIteration as end:
                values: NDArray[np.float32] = end.value
                return values
            except Refused as error:
                detail = self._credentials.hidden(target, error.detail)
                raise self._failure("nonsense", detail, error.hint) from error

    async def _answer(self, target: RemoteTarget, call: TargetCall, samples: int, pace: _Pace) -> TargetReply:
        """The successful answer to one request, which is sent again where that may help."""
        pause, tries = FIRST_PAUSE, 0
        while True:
            await self._take(target, samples, pace)
            try:
                status, reply, after = await self._sent(target, call)
            except (aiohttp.ClientError, OSError) as error:
                tries += 1
                if tries == TRIES:
                    reason = f"{call.url} cannot be reached: {in_words(error)}"
                    raise self._failure("connection", reason) from error
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if 200 <= status < 300:
                pace.faster()
                return reply
            if _throttled(target, status, reply.body):
                pace.slower(after or 0.0)
                if after is None:  # nobody says how long: this request waits, and the others are fewer
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if status == 401 and tries == 0 and self._credentials.forget(target):
                tries += 1  # the token may have been withdrawn
                continue
            if 300 <= status < 400:
                where = reply.headers.get("location", "nowhere")[:200]
                raise self._failure("redirect", f"{call.url} redirects to {where}, which is not followed")
            tries += 1
            if status < 500 or tries == TRIES:
                text = self._credentials.hidden(target, reply.body.decode("utf-8", "replace"))[:200]
                raise self._failure(
                    "5xx" if status >= 500 else "4xx", f"{call.url} answered {status}: {text}"
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _take(self, target: RemoteTarget, samples: int, pace: _Pace) -> None:
        """Wait for the turn of a request, and count its samples as sent."""
        interval, most = round(1e6 * target.limits.seconds_a_request), _most(target)
        while True:
            await pace.patience()
            with redis_errors():
                outcome, number = await self._scripts.run(
                    TAKE, (_counts(target),), target.digest(), interval, samples, most
                )
            if outcome == b"send":
                return
            if outcome == b"spent":
                raise TargetSpent(
                    f"{number} samples were sent to the target {target.name!r}, and its cap is {most}"
                )
            await asyncio.sleep(number / 1000)

    async def _sent(self, target: RemoteTarget, call: TargetCall) -> tuple[int, TargetReply, float | None]:
        try:
            status, reply = await send(
                self._session, self._credentials, target, call, most=self._settings.max_answer
            )
        except InvalidInput as error:
            raise self._failure("secret", error.detail, error.hint) from error
        except UpstreamFailed as error:
            raise self._failure("size", error.detail) from error
        return status, reply, _seconds(reply.headers.get("retry-after"))

    def _failure(self, reason: str, detail: str, hint: str | None = None) -> TargetFailed:
        self._metrics.upstream_failures.add(reason)
        log.warning("target failed", reason=reason, detail=detail)
        return TargetFailed(detail, hint=hint, away=reason in ("connection", "5xx"))


class _Pace:
    """How many requests to a target are under way at a time: fewer after it asked for patience, and one more
    after as many good answers as there are."""

    def __init__(self, most: int) -> None:
        self._most, self._window, self._under_way = float(most), float(most), 0
        self._until = self._halved = 0.0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < max(1, int(self._window)))
            self._under_way += 1

    async def __aexit__(self, *_: object) -> None:
        async with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def faster(self) -> None:
        self._window = min(self._most, self._window + 1.0 / self._window)

    def slower(self, seconds: float) -> None:
        """Halve the window, and have all requests wait for so long."""
        now = time.monotonic()
        if now >= self._halved + ONE_COMPLAINT:
            self._window, self._halved = max(1.0, self._window / 2), now
        self._until = max(self._until, now + seconds)

    async def patience(self) -> None:
        """Wait as long as the target asked for."""
        while (left := self._until - time.monotonic()) > 0:  # noqa: ASYNC110 - it may grow meanwhile
            await asyncio.sleep(left)


def _throttled(target: RemoteTarget, status: int, body: bytes) -> bool:
    for entry in target.limits.throttled:
        code, _, word = entry.partition(" ")
        if status == int(code) and word.encode() in body:
            return True
    return False


def _seconds(after: str | None) -> float | None:
    """The seconds of a ``Retry-After``; None where there is none, or a date."""
    return float(after) if after is not None and after.isascii() and after.isdigit() else None


def _most(target: RemoteTarget) -> int:
    """The most samples that may be sent in all; -1 where there is no cap."""
    limits, caps = target.limits, []
    if limits.samples is not None:
        caps.append(limits.samples)
    if limits.money is not None and limits.price is not None:
        caps.append(int(limits.money / float(limits.price.split()[0])))
    return min(caps, default=-1)


def _counts(target: RemoteTarget) -> str:
    return f"{PREFIX}target:{target.digest()}"


def _part_of(name: bytes, target: RemoteTarget, place: int, batch: NDArray[Any]) -> str:
    digest = hashlib.blake2b(
        np.ascontiguousarray(batch).tobytes(), key=target.digest()[:64].encode(), digest_size=24
    )
    digest.update(name + b":%d" % place)
    return f"{PREFIX}target-part:{digest.hexdigest()}"
