"""The Open Inference Protocol before the proxy's models: paid for and defended as native requests are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from leakrange.service.exchange import CompleteAnswer, Request
from leakrange.service.open_inference import OpenInference
from leakrange.services.proxy.budgeting import Budgeting
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.forward import DataRequest
from leakrange.services.proxy.idempotency import idempotency_of, repeat_of
from leakrange.services.proxy.keys import authorized
from leakrange.services.proxy.queries import Query
from leakrange.services.proxy.settings import ProxySettings
from leakrange.services.proxy.upstream import Upstream
from leakrange.wire.errors import Forbidden, UnknownModel
from leakrange.wire.open_inference import HEAD_LENGTH, infer_answer, read_infer
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import NPY, encode_npy, npy_view
from leakrange.wire.turns import apart

__all__ = ["DefendedInference"]

Paid = Callable[[DataRequest, Query, str], Awaitable[CompleteAnswer]]
"""Charges for a query and forwards it; the answer is in that media type."""


class DefendedInference(OpenInference):
    """``paid`` charges for queries and answers them."""

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

    async def ready(self) -> None:
        """See `OpenInference.ready`: the ledger answers."""
        await self._configuration.refresh()

    async def card(self, request: Request, model: str) -> ModelCard:
        """See `OpenInference.card`."""
        configuration, mark = self._configuration, authorized(request.headers.raw.get(b"authorization"))
        snapshot = configuration.snapshot
        try:
            base = snapshot.route(await configuration.key(mark), model, None)
        except (UnknownModel, Forbidden):
            snapshot = await configuration.refresh()  # the refusal may come from an old configuration
            base = snapshot.route(await configuration.key(mark), model, None)
        return await self._upstream.steady_card(base, model)

    async def infer(self, request: Request, card: ModelCard, endpoint: str) -> CompleteAnswer:
        """See `OpenInference.infer`."""
        mark, repeat = authorized(request.headers.raw.get(b"authorization")), repeat_of(request)
        if request.large:  # reading it costs more than this check
            await self._budgeting.admit(mark, card.name, endpoint, repeat)
        settings = self._settings
        body = await request.body(limit=settings.max_body, within=settings.upstream_timeout)
        length = request.headers.get(HEAD_LENGTH.lower().encode())
        reading = partial(read_infer, body, length, card.input, endpoint, settings.max_samples)
        asked = await apart(reading, len(body))
        content = encode_npy(asked.samples)
        idempotency = await idempotency_of(request, repeat, body, NPY)
        data_request = DataRequest(request, card.name, endpoint, mark, content, idempotency)
        answer = await self._paid(data_request, Query(endpoint, NPY, content, len(asked.samples)), NPY)
        written, described = infer_answer(card, endpoint, npy_view(answer.body), asked)
        return CompleteAnswer(
            answer.status, written, {**answer.headers, **described}, answer.outcome, answer.after
        )
