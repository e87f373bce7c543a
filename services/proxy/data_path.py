"""The data path, in raw ASGI: authentication, budget, the provider's answer, and its defended release."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable
from functools import lru_cache

import structlog
from fastapi import FastAPI
from starlette.types import Scope

from leakrange.service.exchange import CompleteAnswer, MethodNotAllowed, Request
from leakrange.service.hot_path import Ending, HotPath, PiecewiseAnswer
from leakrange.services.proxy.budgeting import Budgeting
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.forward import DataRequest, Forward
from leakrange.services.proxy.free import Free
from leakrange.services.proxy.idempotency import idempotency_of, repeat_of
from leakrange.services.proxy.keys import authorized
from leakrange.services.proxy.ledger import KeptAnswer, Replay
from leakrange.services.proxy.metrics import Metrics
from leakrange.services.proxy.open_inference import DefendedInference
from leakrange.services.proxy.queries import Query
from leakrange.services.proxy.releases import UploadBody
from leakrange.services.proxy.settings import ProxySettings
from leakrange.services.proxy.upstream import Upstream
from leakrange.wire.endpoints import ARTIFACT, GALLERY, OBFUSCATORS, RELEASES, UPLOADS
from leakrange.wire.errors import NotFound
from leakrange.wire.names import is_name
from leakrange.wire.tensors import JSON, negotiate
from leakrange.wire.turns import in_turns

log = structlog.get_logger("leakrange.proxy")
DIGEST = re.compile(r"[0-9a-f]{64}")
REMEMBERED = 256
"""Characters of the longest path that is cached."""


class DataPath(HotPath):
    """Answers everything under ``/v1`` and ``/v2``; the rest goes to ``app``.

    The steps of a data request: the key is checked (where the body is large, it must have samples left), the
    body is read and counted, samples are charged, the provider is asked, the release is transformed, the
    answer is sent. So a refusal costs nothing, a provider's failure is refunded, and everything that was sent
    has been paid. A client that disconnects meanwhile is charged, for the provider did answer.
    """

    def __init__(
        self,
        app: FastAPI,
        *,
        settings: ProxySettings,
        metrics: Metrics,
        configuration: Configuration,
        budgeting: Budgeting,
        free: Free,
        forward: Forward,
        upstream: Upstream,
    ) -> None:
        super().__init__(app)
        self._settings, self._metrics = settings, metrics
        self._configuration, self._budgeting = configuration, budgeting
        self._free, self._forward = free, forward
        self._open_inference = DefendedInference(settings, configuration, budgeting, upstream, self._paid)

    def takes(self, scope: Scope) -> bool:
        """See `HotPath.takes`."""
        path: str = scope["path"]
        return path == "/v2" or path.startswith(("/v1/", "/v2/"))

    def ended(self, ending: Ending) -> None:
        """See `HotPath.ended`."""
        self._metrics.requests.add(ending.endpoint, ending.outcome)
        self._metrics.seconds.add(ending.endpoint, time.perf_counter() - ending.began)
        if ending.outcome not in ("answered", "replayed"):
            log.debug("refused", endpoint=ending.endpoint, outcome=ending.outcome)

    def handler(
        self, request: Request, pieces: PiecewiseAnswer
    ) -> tuple[str, Awaitable[CompleteAnswer | None]]:
        """See `HotPath.handler`."""
        path = request.path
        if request.method == "POST" and len(path) <= REMEMBERED and (target := _read_path(path)) is not None:
            return target[1], self._data(request, *target)  # the usual case
        if path.startswith("/v2"):
            return self._open_inference.handler(request)
        parts = path.split("/")[2:]
        if parts[0] == OBFUSCATORS and len(parts) == 2 and DIGEST.fullmatch(parts[1]):
            _allow(request, "GET")
            return OBFUSCATORS, self._free.obfuscator(request, parts[1], pieces.to(request))
        if parts[0] != "models" or len(parts) > 4 or (len(parts) > 1 and not is_name(parts[1])):
            raise NotFound("no such path", hint="the native API is under /v1/models")
        if len(parts) == 4:
            if parts[2] != GALLERY:
                raise NotFound("no such path", hint="the native API is under /v1/models")
            if request.method == "DELETE":
                return GALLERY, self._free.remove(request, parts[1], parts[3])
            _allow(request, "PUT", "DELETE")
            return GALLERY, self._data(request, parts[1], GALLERY, parts[3])
        if len(parts) == 3 and (parts[2] in RELEASES or parts[2] == UPLOADS):
            _allow(request, "POST")
            return parts[2], self._data(request, parts[1], parts[2])
        if len(parts) == 1:
            _allow(request, "GET")
            return "models", self._free.models(request)
        if len(parts) == 2:
            _allow(request, "GET")
            return "model", self._free.card(request, parts[1])
        if parts[2] == ARTIFACT:
            _allow(request, "GET")
            return ARTIFACT, self._free.artifact(request, parts[1], pieces.to(request))
        if parts[2] == GALLERY:
            _allow(request, "GET")
            return GALLERY, self._free.gallery(request, parts[1])
        endpoints = ", ".join((*RELEASES, UPLOADS, GALLERY))
        raise NotFound(f"no endpoint {parts[2][:40]!r}", hint=f"there are {endpoints}")

    async def _data(
        self, request: Request, model: str, endpoint: str, person: str | None = None
    ) -> CompleteAnswer:
        mark = authorized(request.headers.raw.get(b"authorization"))
        await self._configuration.key(mark)  # an unknown key is refused before its body is read
        accept = negotiate(request.headers.get(b"accept")) if endpoint != UPLOADS else JSON
        settings = self._settings
        repeat = repeat_of(request)
        if request.large:  # reading it costs more than this check
            await self._budgeting.admit(mark, model, endpoint, repeat)
        body = await request.body(limit=settings.max_body, within=settings.upstream_timeout)
        idempotency = await idempotency_of(request, repeat, body, accept)
        data_request = DataRequest(request, model, endpoint, mark, body, idempotency)
        content: UploadBody | Query
        if endpoint == UPLOADS:
            content_type, release = request.headers.get(b"content-type"), request.headers.get(b"x-release")
            upload = UploadBody.read(content_type, release, body, max_samples=settings.max_samples)
            content = await in_turns(upload, len(body))
        else:
            query = Query.read(endpoint, request, person, body, most=settings.max_samples)
            content = await in_turns(query, len(body))
        return await self._paid(data_request, content, accept)

    async def _paid(
        self, data_request: DataRequest, content: UploadBody | Query, accept: str
    ) -> CompleteAnswer:
        """The answer to a request, once it is charged for."""
        paid = await self._budgeting.charge(data_request, content)
        if isinstance(paid, Replay):
            headers = {**paid.answer.headers, **paid.balance.headers(), "Idempotency-Replayed": "true"}
            return CompleteAnswer(paid.answer.status, paid.answer.body, headers, "replayed")
        charge = paid.charge
        try:
            if isinstance(content, UploadBody):
                answer = await self._forward.upload(
                    data_request, content, paid.base, paid.chain, charge.key_id
                )
            else:
                answer = await self._forward.query(
                    data_request, content, accept, paid.base, paid.chain, paid.shadow
                )
        except Exception:  # nothing was sent, whatever went wrong
            await self._budgeting.refund(paid)
            raise
        await self._budgeting.settle(paid, KeptAnswer(answer.status, answer.headers, answer.body))
        headers = {**answer.headers, **charge.balance.headers()}
        return CompleteAnswer(answer.status, answer.body, headers, after=answer.after)


@lru_cache(1024)
def _read_path(path: str) -> tuple[str, str] | None:
    """The model and the endpoint of a request for releases, or of an upload; None for other paths."""
    parts = path.split("/")
    if len(parts) != 5 or parts[2] != "models" or not is_name(parts[3]):
        return None
    return (parts[3], parts[4]) if parts[4] in RELEASES or parts[4] == UPLOADS else None


def _allow(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise MethodNotAllowed(request.method, ", ".join(methods))
