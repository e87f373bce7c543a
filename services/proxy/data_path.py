"""The data path, in raw ASGI: who asks, may they, can they pay, what does the provider say, what goes out."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import orjson
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from leakrange.defences.output import Chain
from leakrange.wire.app import bearer, refuse_early
from leakrange.wire.errors import (
    BudgetExhausted,
    Forbidden,
    InvalidInput,
    LeakrangeError,
    NotFound,
    Unavailable,
    UnknownModel,
    UpstreamFailed,
)
from leakrange.wire.images import ImageLimits, count_images, decode_images
from leakrange.wire.tensors import JSON, negotiate
from services.proxy.configuration import Configuration
from services.proxy.exchange import Answer, Disconnected, MethodNotAllowed, Request
from services.proxy.keys import fingerprint
from services.proxy.ledger import (
    Idempotency,
    KeptAnswer,
    Ledger,
    Replay,
    Reservation,
    StaleConfiguration,
)
from services.proxy.metrics import Metrics
from services.proxy.releases import Noise, Upload, answered_rows, query_digests, transform_answer
from services.proxy.settings import ProxySettings
from services.proxy.snapshot import RELEASES, UPLOADS, KeyRecord, Snapshot
from services.proxy.upstream import Upstream

__all__ = ["DataPath", "Parties"]

log = structlog.get_logger("leakrange.proxy")

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
OFFLOAD: Final = 65_536
"""Bytes from which on pictures are decoded in a thread: the event loop has other requests to serve."""


@dataclass(frozen=True)
class Parties:
    """What the data path works with; made when the application starts."""

    configuration: Configuration
    ledger: Ledger
    upstream: Upstream
    secret: bytes
    """Keys the noise."""


@dataclass(frozen=True)
class _Asked:
    """A data request that has been read."""

    request: Request
    model: str
    endpoint: str
    fingerprint: str
    body: bytes
    idempotency: Idempotency | None


class DataPath:
    """Answers everything under ``/v1``; the rest goes to ``app``.

    Order of a data request: key known, body read and counted, samples reserved, provider asked, release
    transformed, samples settled, answer sent. So what is refused costs nothing, and what was sent has been
    paid. A client that goes away meanwhile is charged, for the provider did answer.
    """

    def __init__(
        self, app: ASGIApp, *, settings: ProxySettings, metrics: Metrics, parties: Callable[[], Parties]
    ) -> None:
        self._app, self._settings, self._metrics, self._parties = app, settings, metrics, parties
        self._limits = ImageLimits(samples=settings.max_samples)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            return await self._app(scope, receive, send)
        begun = time.perf_counter()
        request = Request.of(scope, receive)
        endpoint, outcome = "(none)", "internal-error"
        try:
            endpoint, handle = self._handler(request, send)
            answer = await handle
            outcome = answer.outcome if answer else "answered"
            if answer:
                await answer.send(send)
        except Disconnected:
            outcome = "disconnected"
        except LeakrangeError as error:
            outcome = error.slug
            if isinstance(error, BudgetExhausted):
                self._metrics.samples.labels("refused").inc(error.extra["asked"])
            if error.headers.get("Connection") == "close":  # there is more of the body to come
                await refuse_early(error, scope, receive, send)
            else:
                await Answer.problem(error, request.path[:500]).send(send)
        finally:
            self._metrics.requests.labels(endpoint, outcome).inc()
            self._metrics.seconds.labels(endpoint).observe(time.perf_counter() - begun)
            if outcome not in ("answered", "replayed"):
                log.debug("refused", endpoint=endpoint, outcome=outcome)

    def _handler(self, request: Request, send: Send) -> tuple[str, Awaitable[Answer | None]]:
        parts = request.path.split("/")[2:]
        if parts[0] != "models" or len(parts) > 3 or (len(parts) > 1 and not NAME.fullmatch(parts[1])):
            raise NotFound("no such path", hint="the native API is under /v1/models")
        if len(parts) == 3 and (parts[2] in RELEASES or parts[2] == UPLOADS):
            _allow(request, "POST")
            return parts[2], self._data(request, parts[1], parts[2])
        if len(parts) == 1:
            _allow(request, "GET")
            return "models", self._models(request)
        if len(parts) == 2:
            _allow(request, "GET")
            return "model", self._card(request, parts[1])
        if parts[2] == "artifact":
            _allow(request, "GET")
            return "artifact", self._artifact(request, parts[1], send)
        raise NotFound(f"no endpoint {parts[2][:40]!r}", hint=f"there are {', '.join((*RELEASES, UPLOADS))}")

    # What costs nothing

    async def _known(self, request: Request) -> tuple[KeyRecord, Snapshot]:
        """The key's record and the configuration, both as they are now."""
        configuration = self._parties().configuration
        snapshot = await configuration.refresh()
        return await configuration.key(fingerprint(bearer(request.headers.get("authorization")))), snapshot

    async def _models(self, request: Request) -> Answer:
        key, snapshot = await self._known(request)
        upstream = self._parties().upstream

        async def card(model: str, base: str) -> object:
            try:
                answer = await upstream.ask("GET", f"{base}/v1/models/{model}", {"Accept": JSON})
                return orjson.loads(answer.body) if answer.status == 200 else None
            except (Unavailable, UpstreamFailed, orjson.JSONDecodeError):
                return None  # a provider that is down serves no model now

        routed = [(model, base) for model, base in sorted(snapshot.routes.items()) if key.may_use(model)]
        cards = await asyncio.gather(*(card(model, base) for model, base in routed))
        body = orjson.dumps({"models": [each for each in cards if each is not None]})
        return Answer(200, body, {"Content-Type": JSON})

    async def _card(self, request: Request, model: str) -> Answer:
        key, snapshot = await self._known(request)
        base = snapshot.route(key, model, None)
        return await self._parties().upstream.ask("GET", f"{base}/v1/models/{model}", {"Accept": JSON})

    async def _artifact(self, request: Request, model: str, send: Send) -> None:
        key, snapshot = await self._known(request)
        url = f"{snapshot.route(key, model, 'artifact')}/v1/models/{model}/artifact"
        await self._parties().upstream.stream(url, {"Accept": "*/*"}, send)

    # What costs samples

    async def _data(self, request: Request, model: str, endpoint: str) -> Answer:
        parties = self._parties()
        mark = fingerprint(bearer(request.headers.get("authorization")))
        await parties.configuration.key(mark)  # an unknown key is refused before its body is read
        accept = negotiate(request.headers.get("accept")) if endpoint != UPLOADS else JSON
        settings = self._settings
        body = await request.body(limit=settings.max_body, within=settings.upstream_timeout)
        idempotency = _idempotency(request, body, accept)
        asked = _Asked(request, model, endpoint, mark, body, idempotency)
        upload = None
        if endpoint == UPLOADS:
            upload = Upload.read(
                request.headers.get("content-type"),
                request.headers.get("x-release"),
                body,
                max_samples=settings.max_samples,
            )
            samples = len(upload.values)
        else:
            samples = count_images(request.headers.get("content-type"), body, limits=self._limits)
        reserved, base, chain = await self._reserve(asked, samples, upload)
        if isinstance(reserved, Replay):
            self._metrics.samples.labels("replayed").inc(samples)
            headers = reserved.answer.headers | reserved.balance.headers() | {"Idempotency-Replayed": "true"}
            return Answer(reserved.answer.status, reserved.answer.body, headers, "replayed")
        try:
            if upload is not None:
                answer = await self._upload(asked, upload, base, chain)
            else:
                answer = await self._query(asked, accept, samples, base, chain)
        except LeakrangeError:
            await self._refund(reserved)
            raise
        if answer.status >= 400:
            await self._refund(reserved)
            return Answer(answer.status, answer.body, answer.headers, "refused-upstream")
        kept = KeptAnswer(answer.status, answer.headers, answer.body)
        balance = await parties.ledger.settle(reserved, kept)
        self._metrics.samples.labels("answered").inc(samples)
        return Answer(answer.status, answer.body, answer.headers | balance.headers())

    async def _reserve(
        self, asked: _Asked, samples: int, upload: Upload | None
    ) -> tuple[Reservation | Replay, str, Chain]:
        """Reserve under the configuration that decides route and policy, read anew if it has changed."""
        configuration, ledger = self._parties().configuration, self._parties().ledger
        release = upload.release if upload else RELEASES[asked.endpoint]
        while True:
            snapshot = configuration.snapshot
            key = await configuration.key(asked.fingerprint)
            try:
                base = snapshot.route(key, asked.model, asked.endpoint)
                chain = snapshot.chain(key.id, asked.model, asked.endpoint)
                if reason := chain.refuse(release):
                    raise Forbidden(f"the policy of this request releases no {release}: {reason}")
            except (UnknownModel, Forbidden):
                if await configuration.refresh() is snapshot:
                    raise
                continue  # it was an old configuration that refused
            try:
                reserved = await ledger.reserve(
                    asked.fingerprint, snapshot.version, samples, asked.idempotency
                )
                return reserved, base, chain
            except StaleConfiguration:
                await configuration.refresh()

    async def _refund(self, reserved: Reservation) -> None:
        self._metrics.samples.labels("refunded").inc(reserved.samples)
        try:
            await self._parties().ledger.refund(reserved)
        except Unavailable:
            log.warning("refund left to expiry", key_id=reserved.key_id, samples=reserved.samples)

    async def _query(self, asked: _Asked, accept: str, samples: int, base: str, chain: Chain) -> Answer:
        upstream, headers = self._parties().upstream, {"Accept": accept}
        if content_type := asked.request.headers.get("content-type"):
            headers["Content-Type"] = content_type
        digests = await self._digests(asked, base) if chain.needs_digests else None
        answer = await upstream.ask(
            "POST", f"{base}/v1/models/{asked.model}/{asked.endpoint}", headers, asked.body
        )
        if answer.status >= 400:
            return answer
        content_type = answer.headers.get("Content-Type")
        if not chain.stages:
            if (rows := answered_rows(content_type, answer.body)) != samples:
                raise UpstreamFailed(f"the provider answered {rows} of {samples} samples")
            return answer
        context = self._noise(asked).context(chain, RELEASES[asked.endpoint], digests)
        body = transform_answer(chain, context, content_type, answer.body, samples)
        return Answer(answer.status, body, answer.headers)

    async def _upload(self, asked: _Asked, upload: Upload, base: str, chain: Chain) -> Answer:
        body = asked.body
        if chain.stages:
            digests = None
            if chain.needs_digests:
                secret = self._parties().secret
                digests = query_digests(secret, asked.model, UPLOADS, upload.values, upload.release)
            body = upload.transformed(chain, self._noise(asked).context(chain, upload.release, digests))
        headers = {"Accept": JSON, "Content-Type": upload.media, "X-Release": upload.release}
        if (key := asked.request.headers.get("idempotency-key")) is not None:
            headers["Idempotency-Key"] = key
        return await self._parties().upstream.ask(
            "POST", f"{base}/v1/models/{asked.model}/outputs", headers, body
        )

    def _noise(self, asked: _Asked) -> Noise:
        request = None
        if asked.idempotency is not None:
            request = f"{asked.fingerprint}:{asked.idempotency.key}:{asked.idempotency.request}".encode()
        return Noise(self._parties().secret, request)

    async def _digests(self, asked: _Asked, base: str) -> list[bytes]:
        """Digests of the pictures as the model sees them, so that PNG, npy and JSON of one picture agree."""
        parties = self._parties()

        async def decoded(fresh: bool) -> list[bytes]:
            card = await parties.upstream.card(base, asked.model, fresh=fresh)
            content_type = asked.request.headers.get("content-type")

            def read() -> list[bytes]:
                images = decode_images(content_type, asked.body, shape=card.input_shape, limits=self._limits)
                return query_digests(parties.secret, asked.model, asked.endpoint, images)

            return await asyncio.to_thread(read) if len(asked.body) > OFFLOAD else read()

        try:
            return await decoded(fresh=False)
        except InvalidInput:
            # The model of this name may have been replaced by one of another size.
            return await decoded(fresh=True)


def _allow(request: Request, method: str) -> None:
    if request.method != method:
        raise MethodNotAllowed(request.method, method)


def _idempotency(request: Request, body: bytes, accept: str) -> Idempotency | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= 200 or not key.isascii() or not key.isprintable():
        raise InvalidInput("an Idempotency-Key has 1 to 200 printable ASCII characters")
    told = (request.path, accept, request.headers.get("content-type"), request.headers.get("x-release"))
    digest = hashlib.sha256(orjson.dumps(told))
    digest.update(body)
    return Idempotency(hashlib.sha256(key.encode()).hexdigest(), digest.hexdigest())
