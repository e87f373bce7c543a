"""Requests to the providers behind the proxy, and the classification of their failures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import aiohttp
import structlog
from starlette.types import Send

from leakrange import tracing
from leakrange.services.proxy.failures import refused, unavailable, unusable
from leakrange.services.proxy.http1 import AnswerTooLarge, Client, Response
from leakrange.services.proxy.interim import PatientResponse
from leakrange.services.proxy.metrics import Metrics
from leakrange.services.proxy.settings import ProxySettings
from leakrange.services.proxy.snapshot import Base
from leakrange.targets.target import RemoteTarget
from leakrange.wire.endpoints import UPLOADS
from leakrange.wire.errors import InvalidInput, LeakrangeError, NotFound, UnknownModel
from leakrange.wire.pairs import MARK
from leakrange.wire.schemas import MODEL_VERSION, ModelCard
from leakrange.wire.tensors import JSON, media_type

log = structlog.get_logger("leakrange.proxy.upstream")

CARD_SECONDS = 30.0
SENT = {"Accept-Encoding": "identity", "User-Agent": "leakrange-proxy"}
"""Headers of every request."""
VERSION, MARKED = MODEL_VERSION.lower().encode(), MARK.lower().encode()


class Reply(NamedTuple):
    """A provider's successful answer. Status and headers stay here: a release could hide in any of them."""

    media: str
    """Its media type, lower case."""
    body: bytes
    template: bytes | None = None
    """Mark of the enrolled person that it is about; None where it is missing or nonsense."""
    version: str | None = None
    """Version of the model, from the answer's header."""


@dataclass(frozen=True)
class _KnownCard:
    card: ModelCard
    until: float


def model_url(base: Base, model: str) -> str:
    """URL of the model's card at ``base``; its endpoints are below. Raises `NotFound` for a target, which has
    no more than its one endpoint."""
    if isinstance(base, RemoteTarget):
        raise NotFound(
            f"the model {model!r} is a target, and answers at {base.endpoint!r} alone",
            hint="its file, its uploads and its gallery are with whoever serves it",
        )
    return f"{base}/v1/models/{model}"


class Upstream:
    """The connections to all providers, open in an ``async with`` block."""

    _session: aiohttp.ClientSession
    _client: Client

    def __init__(self, metrics: Metrics, settings: ProxySettings) -> None:
        self._metrics, self._settings = metrics, settings
        self._cards: dict[str, _KnownCard] = {}
        self._steady_cards: dict[str, _KnownCard] = {}

    async def __aenter__(self) -> None:
        self._client = Client(
            timeout=self._settings.upstream_timeout,
            largest=self._settings.max_answer,
            most=self._settings.upstream_connections,
            headers=SENT,
        )
        self._session = aiohttp.ClientSession(
            # What is left on a connection might be taken for the next file.
            connector=aiohttp.TCPConnector(limit=self._settings.upstream_connections, force_close=True),
            timeout=aiohttp.ClientTimeout(total=self._settings.upstream_timeout, sock_connect=5.0),
            headers=SENT,
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=PatientResponse,
            auto_decompress=False,
        )

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self._client.close()

    async def ask(
        self, method: str, route: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Reply:
        """The provider's whole successful answer. ``route`` is the URL of a model, ``path`` the rest of the
        URL.

        Raises `NotFound` or `InvalidInput` where it refuses the request, `Unavailable` where it cannot be
        reached, is late or full, `UpstreamFailed` for anything else; see `leakrange.services.proxy.failures`.
        """
        url = route + path
        try:
            with tracing.call(method, url) as traced:
                all_headers = {**headers, **traced} if traced else headers
                response = await self._client.ask(
                    method, route, path, all_headers, body, repeatable=_repeatable(path, headers)
                )
        except AnswerTooLarge as error:
            raise self._failure("size", url, unusable()) from error
        except OSError as error:  # a timeout among them
            raise self._unreachable(error, url) from error
        self._check(response.status, url)
        if b"content-encoding" in response.headers and response.header(b"content-encoding") != "identity":
            raise self._failure("encoding", url, unusable())
        media = media_type(response.header(b"content-type"))
        return Reply(media, response.body, _template(response), response.header(VERSION))

    async def stream(self, url: str, headers: Mapping[str, str], send: Send) -> None:
        """Send on the body of the provider's answer to a GET, piece by piece. Errors as of `ask`, as long as
        nothing was sent."""
        started = False
        try:
            with tracing.call("GET", url) as traced:
                answer = self._session.get(url, headers={**headers, **traced}, allow_redirects=False)
            async with answer as response:
                self._check(response.status, url)
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    raise self._failure("encoding", url, unusable())
                fields = {"Content-Type": "application/octet-stream"}
                if response.content_length is not None:
                    fields["Content-Length"] = str(response.content_length)
                raw = [
                    (name.lower().encode("latin-1"), value.encode("latin-1"))
                    for name, value in fields.items()
                ]
                started = True
                await send({"type": "http.response.start", "status": 200, "headers": raw})
                async for chunk in response.content.iter_chunked(65_536):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if started:
                raise  # the server closes the connection: the client sees that the file is cut short
            raise self._unreachable(error, url) from error

    async def card(
        self, base: Base, model: str, *, fresh: bool = False, version: str | None = None
    ) -> ModelCard:
        """The model's card, at most half a minute old; it is requested now when ``fresh``, or where the
        cached one is not of ``version``. A target's stands in its file.

        Raises `UnknownModel` where the provider gives none, `UpstreamFailed` where it is broken.
        """
        if isinstance(base, RemoteTarget):
            return base.model_card(model)
        url = model_url(base, model)
        cached = self._cards.get(url)
        outdated = cached is not None and version not in (None, cached.card.version)
        if cached is None or fresh or outdated or cached.until < time.monotonic():
            try:
                answer = await self.ask("GET", url, "", {"Accept": JSON})
            except (NotFound, InvalidInput) as error:
                raise UnknownModel(f"the provider serves no model {model!r} now") from error
            try:
                card = ModelCard.model_validate_json(answer.body)
                if card.name != model:
                    raise ValueError("it is the card of another model")
            except ValueError as error:
                raise self._failure("card", url, unusable()) from error
            if cached is not None and cached.card != card:
                log.warning("model card changed", url=url, version=card.version)
            cached = self._cards[url] = _KnownCard(card, time.monotonic() + CARD_SECONDS)
        return cached.card

    async def steady_card(self, base: Base, model: str) -> ModelCard:
        """The card for clients whose releases are defended. It changes at most every half minute, so that a
        provider can pass little by it, however often it changes its own. Errors as of `card`."""
        if isinstance(base, RemoteTarget):
            return base.model_card(model)
        url = model_url(base, model)
        cached = self._steady_cards.get(url)
        if cached is None or cached.until < time.monotonic():
            card = await self.card(base, model, fresh=True)
            cached = self._steady_cards[url] = _KnownCard(card, time.monotonic() + CARD_SECONDS)
        return cached.card

    def _check(self, status: int, url: str) -> None:
        if 200 <= status < 300:
            return
        if 400 <= status < 500:
            raise self._failure("4xx", url, refused(status), status)
        if status == 503:
            raise self._failure("503", url, unavailable(), status)
        raise self._failure("5xx" if status >= 500 else "redirect", url, unusable(), status)

    def _unreachable(self, error: Exception, url: str) -> LeakrangeError:
        reason = "timeout" if isinstance(error, TimeoutError) else "connection"
        return self._failure(reason, url, unavailable())

    def _failure(
        self, reason: str, url: str, error: LeakrangeError, answered: int | None = None
    ) -> LeakrangeError:
        self._metrics.upstream_failures.add(reason)
        log.warning("upstream failed", reason=reason, url=url, answered=answered)
        return error


def _repeatable(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a provider may get the request twice: an upload only if it has a key by which it is known
    again."""
    return path != f"/{UPLOADS}" or "Idempotency-Key" in headers


def _template(response: Response) -> bytes | None:
    try:
        return bytes.fromhex(response.header(MARKED) or "") or None
    except ValueError:
        return None
