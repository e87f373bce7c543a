"""The Open Inference Protocol before the models: a client of a serving system changes one address.

Only what cannot undo a defence is served: liveness, metadata, and inference of the one release that a model's
card declares. Everything else under ``/v2`` is refused, whatever the server behind could do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from leakrange.service.exchange import CompleteAnswer, MethodNotAllowed, Request
from leakrange.services.proxy.budgeting import Budgeting
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.forward import DataRequest
from leakrange.services.proxy.idempotency import idempotency_of, repeat_of
from leakrange.services.proxy.keys import authorized
from leakrange.services.proxy.queries import Query
from leakrange.services.proxy.settings import ProxySettings
from leakrange.services.proxy.upstream import Upstream
from leakrange.wire.endpoints import RELEASES, endpoint_of
from leakrange.wire.errors import Forbidden, NotFound, UnknownModel
from leakrange.wire.names import is_name
from leakrange.wire.open_inference import (
    HEAD_LENGTH,
    infer_answer,
    model_metadata,
    read_infer,
    server_metadata,
)
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import NPY, encode_npy, npy_view
from leakrange.wire.turns import apart

__all__ = ["OpenInference"]

Paid = Callable[[DataRequest, Query, str], Awaitable[CompleteAnswer]]
"""Charges for a query and forwards it; the answer is in that media type."""


class OpenInference:
    """Answers everything under ``/v2``; ``paid`` charges for queries and answers them."""

    def __init__(
        self,
        settings: ProxySettings,
        configuration: Configuration,
        budgeting: Budgeting,
        upstream: Upstream,
        paid: Paid,
    ) -> None:
        self._settings, self._configuration, self._budgeting = settings, configuration, budgeting
        self._upstream, self._paid = upstream, paid

    def handler(self, request: Request) -> tuple[str, Awaitable[CompleteAnswer]]:
        """The endpoint of a request, for metrics, and its answer. Raises `NotFound`, `MethodNotAllowed`."""
        parts = request.path.rstrip("/").split("/")[2:]
        if parts in ([], ["health", "live"], ["health", "ready"]):
            _allow(request, "GET")
            return "/".join(["v2", *parts]), self._health(parts)
        if len(parts) < 2 or parts[0] != "models" or not is_name(parts[1]):
            raise _refusal(request.path)
        model, version, rest = parts[1], None, parts[2:]
        if len(rest) >= 2 and rest[0] == "versions":
            version, rest = rest[1], rest[2:]
        if rest == ["infer"]:
            _allow(request, "POST")
            return "v2/infer", self._infer(request, model, version)
        if rest in ([], ["ready"]):
            _allow(request, "GET")
            return "v2/model", self._model(request, model, version, ready=bool(rest))
        raise _refusal(request.path)

    async def _health(self, parts: list[str]) -> CompleteAnswer:
        if not parts:
            return CompleteAnswer.json(server_metadata())
        if parts[1] == "ready":
            await self._configuration.refresh()
        return CompleteAnswer.json({parts[1]: True})

    async def _model(
        self, request: Request, model: str, version: str | None, *, ready: bool
    ) -> CompleteAnswer:
        await self._configuration.refresh()
        card, output = await self._card(request, model, version)
        return CompleteAnswer.json({"ready": True} if ready else model_metadata(card, output))

    async def _card(self, request: Request, model: str, version: str | None) -> tuple[ModelCard, str]:
        """The card of a model, as whoever asks may see it, and the endpoint of its declared release."""
        configuration, mark = self._configuration, authorized(request.headers.raw.get(b"authorization"))
        snapshot = configuration.snapshot
        try:
            base = snapshot.route(await configuration.key(mark), model, None)
        except (UnknownModel, Forbidden):
            snapshot = await configuration.refresh()  # the refusal may come from an old configuration
            base = snapshot.route(await configuration.key(mark), model, None)
        card = await self._upstream.steady_card(base, model)
        if version not in (None, card.version):
            raise NotFound(f"the model {model!r} is served in the version {card.version!r} alone")
        endpoint = endpoint_of(card.service, card.default_release)
        if RELEASES[endpoint] == "score":
            raise NotFound(
                f"the model {model!r} compares pairs, which this protocol has no input for",
                hint=f"POST /v1/models/{model}/{endpoint}",
            )
        return card, endpoint

    async def _infer(self, request: Request, model: str, version: str | None) -> CompleteAnswer:
        card, endpoint = await self._card(request, model, version)
        mark, repeat = authorized(request.headers.raw.get(b"authorization")), repeat_of(request)
        if request.large:  # reading it costs more than this check
            await self._budgeting.admit(mark, model, endpoint, repeat)
        settings = self._settings
        body = await request.body(limit=settings.max_body, within=settings.upstream_timeout)
        length = request.headers.get(HEAD_LENGTH.lower().encode())
        reading = partial(read_infer, body, length, card.input, endpoint, settings.max_samples)
        asked = await apart(reading, len(body))
        content = encode_npy(asked.samples)
        data_request = DataRequest(
            request, model, endpoint, mark, content, await idempotency_of(request, repeat, body, NPY)
        )
        answer = await self._paid(data_request, Query(endpoint, NPY, content, len(asked.samples)), NPY)
        written, described = infer_answer(card, endpoint, npy_view(answer.body), asked)
        return CompleteAnswer(
            answer.status, written, {**answer.headers, **described}, answer.outcome, answer.after
        )


def _allow(request: Request, method: str) -> None:
    if request.method != method:
        raise MethodNotAllowed(request.method, method)


def _refusal(path: str) -> NotFound:
    return NotFound(
        f"{path[:200]!r} is not served",
        hint="/v2/health/live, /v2/health/ready, /v2/models/{model}, its /ready, and its /infer are",
    )
