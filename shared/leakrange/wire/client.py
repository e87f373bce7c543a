"""The native API, called: one client for providers and proxies, over either transport."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.wire.errors import InvalidInput, LeakrangeError, MalformedBody, Unavailable, UpstreamFailed
from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.schemas import Decisions, ModelCard
from leakrange.wire.tensors import JSON, NPY, decode_npy, encode_npy, media_type, release_array
from leakrange.wire.transport import Answer, Transport

__all__ = ["NativeClient", "call", "raise_problem"]

_SENDABLE = re.compile(r"[!-~]+")
RETRIED = (409, 502, 503)
"""In flight, upstream failed, unavailable: the same request may succeed later, and cost nothing so far."""


def _by_slug() -> dict[str, type[LeakrangeError]]:
    found: dict[str, type[LeakrangeError]] = {}
    pending: list[type[LeakrangeError]] = [LeakrangeError]
    while pending:
        kind = pending.pop()
        found[kind.slug] = kind
        pending += kind.__subclasses__()
    return found


def raise_problem(answer: Answer) -> None:
    """Raise the error that a problem answer describes (or one of its status); return for any answer of
    success.

    A redirect is not followed, since it could lead a key elsewhere: it is `UpstreamFailed`.
    """
    if 200 <= answer.status < 300:
        return
    if answer.status < 400:
        raise UpstreamFailed(
            f"HTTP {answer.status} instead of an answer",
            hint="give the server's own address, not one that redirects",
        )
    problem: dict[str, Any] = {}
    if "json" in media_type(answer.headers.get("content-type")):
        try:
            parsed = orjson.loads(answer.body)
            problem = parsed if isinstance(parsed, dict) else {}
        except orjson.JSONDecodeError:
            problem = {}
    detail = str(problem.get("detail") or problem.get("title") or answer.body[:200].decode(errors="replace"))
    slug = str(problem.get("type", "")).rpartition("/")[2]
    known = _by_slug()
    extra = {
        k: v for k, v in problem.items() if k not in ("type", "title", "status", "detail", "hint", "instance")
    }
    hint = str(problem["hint"]) if problem.get("hint") else None
    wait = answer.headers.get("retry-after", "")
    kind = known.get(slug)
    if kind is None:
        by_status = {kind.status: kind for kind in reversed(known.values()) if kind is not LeakrangeError}
        kind = by_status.get(answer.status, UpstreamFailed)
        detail = f"HTTP {answer.status}: {detail}"
    # Subclasses have constructors of their own; what came over the wire is complete without them.
    error = kind.__new__(kind, detail)
    LeakrangeError.__init__(error, detail, hint=hint, retry_after=float(wait) if wait.isdecimal() else None)
    error.extra = extra
    vars(error).update({name: extra[name] for name in ("mistakes",) if name in extra})
    raise error


@contextmanager
def _understanding(url: str) -> Iterator[None]:
    """Whatever cannot be read in a server's answer is that server's failure, not our caller's."""
    try:
        yield
    except (MalformedBody, InvalidInput) as error:
        raise UpstreamFailed(f"the answer from {url} cannot be used: {error.detail}") from error
    except (ValidationError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UpstreamFailed(
            f"the answer from {url} is not of the native API", hint="is it a provider?"
        ) from error


async def call(
    transport: Transport,
    method: str,
    url: str,
    *,
    key: str | None = None,
    json: Any = None,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    attempts: int = 1,
) -> Answer:
    """Send a request; raise what a problem answer describes. 409, 502, 503 and unreachable servers are tried
    ``attempts`` times.

    Waits as ``Retry-After`` says (1 s where nobody answers), or doubling from 0.1 s, whichever is more; at
    most 5 s.
    """
    sent = {"Accept": JSON, **(headers or {})}
    if key is not None:
        if not _SENDABLE.fullmatch(key):
            raise InvalidInput(
                "an API key is printable ASCII without blanks", hint="check the key for a stray line end"
            )
        sent["Authorization"] = f"Bearer {key}"
    if json is not None:
        body = orjson.dumps(json)
        sent["Content-Type"] = JSON
    pause = 0.1
    for attempt in range(1, attempts + 1):
        try:
            answer = await transport.send(method, url, sent, body)
            raise_problem(answer)
            return answer
        except LeakrangeError as error:
            if attempt == attempts or error.status not in RETRIED:
                raise
            await asyncio.sleep(min(5.0, max(pause, error.retry_after or 0.0)))
            pause = min(5.0, pause * 2)
    raise Unavailable(f"{url} was not tried")  # unreachable for attempts >= 1


class NativeClient:
    """The native API of one provider or proxy at ``url``, with the API key ``key`` (None: a provider without
    a proxy)."""

    def __init__(self, transport: Transport, url: str, key: str | None = None, *, attempts: int = 1) -> None:
        self.transport, self.url, self.key, self.attempts = transport, url.rstrip("/"), key, attempts

    async def models(self) -> list[ModelCard]:
        """The cards of all models that this key may use."""
        answer = await self._call("GET", "/v1/models")
        with _understanding(self.url):
            return [ModelCard.model_validate(card) for card in orjson.loads(answer.body)["models"]]

    async def card(self, model: str) -> ModelCard:
        """One model's card."""
        answer = await self._call("GET", f"/v1/models/{model}")
        with _understanding(self.url):
            return ModelCard.model_validate_json(answer.body)

    async def artifact(self, model: str) -> bytes:
        """The public artifact, a safetensors file; check its SHA-256 against the card's before loading it."""
        return (await self._call("GET", f"/v1/models/{model}/artifact", accept="*/*")).body

    async def query(
        self,
        model: str,
        release: ReleaseKind,
        images: NDArray[np.uint8],
        *,
        idempotency_key: str | None = None,
    ) -> NDArray[np.float32]:
        """The ``release`` (samples, N) of uint8 images (samples, H, W, C)."""
        answer = await self._call(
            "POST",
            f"/v1/models/{model}/{release}",
            accept=NPY,
            body=encode_npy(images),
            idempotency_key=idempotency_key,
        )
        with _understanding(self.url):
            values = release_array(decode_npy(answer.body), max_samples=len(images))
        if len(values) != len(images):
            raise UpstreamFailed(f"{self.url} answered {len(values)} of {len(images)} samples")
        return values

    async def upload(
        self,
        model: str,
        release: ReleaseKind,
        values: NDArray[np.float32],
        *,
        idempotency_key: str | None = None,
    ) -> list[int]:
        """Upload outputs (samples, N), as an edge client does; the decisions, one class index a sample."""
        answer = await self._call(
            "POST",
            f"/v1/models/{model}/outputs",
            body=encode_npy(values.astype(np.float32)),
            idempotency_key=idempotency_key,
            extra={"X-Release": release},
        )
        with _understanding(self.url):
            decisions = Decisions.model_validate_json(answer.body).decisions
        if len(decisions) != len(values):
            raise UpstreamFailed(f"{self.url} decided on {len(decisions)} of {len(values)} samples")
        return decisions

    async def _call(
        self,
        method: str,
        path: str,
        *,
        accept: str = JSON,
        body: bytes | None = None,
        idempotency_key: str | None = None,
        extra: dict[str, str] | None = None,
    ) -> Answer:
        headers = {"Accept": accept, **(extra or {})}
        if body is not None:
            headers["Content-Type"] = NPY
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return await call(
            self.transport,
            method,
            self.url + path,
            key=self.key,
            body=body,
            headers=headers,
            attempts=self.attempts,
        )
