"""The providers behind the proxy: asked over aiohttp, their failures told apart."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import structlog
from starlette.types import Send

from leakrange.wire.errors import LeakrangeError, Unavailable, UnknownModel, UpstreamFailed
from leakrange.wire.pairs import MARK
from leakrange.wire.schemas import MODEL_VERSION, ModelCard
from services.proxy.exchange import Answer
from services.proxy.metrics import Metrics

__all__ = ["Upstream"]

log = structlog.get_logger("leakrange.proxy.upstream")

PASSED_ON = frozenset(
    {"content-type", "content-disposition", "etag", "last-modified", "allow", "retry-after"}
)
"""Headers of a provider's answer that reach the client; a release could hide in any other."""
CARD_SECONDS = 30.0


@dataclass(frozen=True)
class _KnownCard:
    card: ModelCard
    until: float


class Upstream:
    """One connection pool to all providers. Make it inside the running event loop."""

    def __init__(self, metrics: Metrics, *, timeout: float, connections: int, max_answer: int) -> None:
        self._metrics, self._max_answer = metrics, max_answer
        self._cards: dict[str, _KnownCard] = {}
        self._session = aiohttp.ClientSession(
            # uvicorn closes idle connections after 5 s: let go before, so that no request meets a closing
            # one.
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=4.0),
            timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=5.0),
            headers={"Accept-Encoding": "identity", "User-Agent": "leakrange-proxy"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """The provider's whole answer where it is 2xx or 4xx.

        Raises `Unavailable` where it cannot be reached, is late or full (503), `UpstreamFailed` for anything
        else.
        """
        try:
            async with self._session.request(
                method, url, headers=headers, data=body, allow_redirects=False
            ) as response:
                self._check(response, url)
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > self._max_answer:
                        raise self._failure("size", url, UpstreamFailed("the provider's answer is too large"))
                return Answer(
                    response.status,
                    bytes(content),
                    _passed_on(response),
                    template=_template(response),
                    version=response.headers.get(MODEL_VERSION),
                )
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error, url) from error

    async def stream(self, url: str, headers: Mapping[str, str], send: Send) -> None:
        """Send the provider's answer to a GET on as it comes; errors as of `ask`, as long as nothing was
        sent.
        """
        started = False
        try:
            async with self._session.get(url, headers=headers, allow_redirects=False) as response:
                self._check(response, url)
                told = _passed_on(response)
                if response.content_length is not None and "Content-Encoding" not in response.headers:
                    told["Content-Length"] = str(response.content_length)
                raw = [
                    (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in told.items()
                ]
                started = True
                await send({"type": "http.response.start", "status": response.status, "headers": raw})
                async for chunk in response.content.iter_chunked(65_536):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if started:
                raise  # the server closes the connection: the client sees that the file is cut short
            raise self._unreachable(error, url) from error

    async def card(
        self, base: str, model: str, *, fresh: bool = False, version: str | None = None
    ) -> ModelCard:
        """The model's card, at most half a minute old; asked for now when ``fresh``, or where the known one
        is not of ``version``.

        Raises `UnknownModel` where the provider gives none, `UpstreamFailed` where it is broken.
        """
        url = f"{base}/v1/models/{model}"
        known = self._cards.get(url)
        other = known is not None and version not in (None, known.card.version)
        if known is None or fresh or other or known.until < time.monotonic():
            answer = await self.ask("GET", url, {"Accept": "application/json"})
            if answer.status >= 400:
                raise UnknownModel(f"the provider serves no model {model!r} now")
            try:
                card = ModelCard.model_validate_json(answer.body)
                if card.name != model:
                    raise ValueError("it is the card of another model")
            except ValueError as error:
                raise self._failure(
                    "card", url, UpstreamFailed("the provider's model card is broken")
                ) from error
            known = self._cards[url] = _KnownCard(card, time.monotonic() + CARD_SECONDS)
        return known.card

    def _check(self, response: aiohttp.ClientResponse, url: str) -> None:
        status = response.status
        if 200 <= status < 300 or 400 <= status < 500:
            return
        if status == 503:
            raise self._failure("503", url, Unavailable("the provider is not ready or full", retry_after=1.0))
        reason = "5xx" if status >= 500 else "redirect"
        raise self._failure(reason, url, UpstreamFailed(f"the provider answered with status {status}"))

    def _unreachable(self, error: Exception, url: str) -> LeakrangeError:
        reason = "timeout" if isinstance(error, TimeoutError) else "connection"
        told = "answers too late" if reason == "timeout" else "cannot be reached"
        return self._failure(reason, url, Unavailable(f"the provider {told}", retry_after=1.0))

    def _failure(self, reason: str, url: str, error: LeakrangeError) -> LeakrangeError:
        self._metrics.upstream_failures.labels(reason).inc()
        log.warning("upstream failed", reason=reason, url=url, status=error.status)
        return error


def _template(response: aiohttp.ClientResponse) -> bytes | None:
    """The mark of an enrolled person; None where it is missing or nonsense."""
    try:
        return bytes.fromhex(response.headers.get(MARK, "")) or None
    except ValueError:
        return None


def _passed_on(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.title(): value for name, value in response.headers.items() if name.lower() in PASSED_ON}
