"""Sessions, in which simulated users use the app once. Their true labels go to the controller alone."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from leakrange import tracing
from leakrange.clients.edge.auditor import Auditor
from leakrange.clients.edge.metrics import EdgeMetrics
from leakrange.data.resembling import NEAR_COPIES
from leakrange.data.spans import span_of
from leakrange.defences.chain import DefenceChain
from leakrange.devices.device import Device
from leakrange.devices.enrolment import Enrolments
from leakrange.devices.obfuscators import Obfuscators
from leakrange.jobs.steps.stream import Session, SessionReply
from leakrange.wire.endpoints import endpoint_of
from leakrange.wire.errors import Conflict, InvalidInput
from leakrange.wire.heads import answers
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import encode_npy, from_text, to_text

__all__ = ["Sessions"]

log = structlog.get_logger("leakrange.clients.edge.sessions")
REMEMBERED = 1024
"""Number of replies kept for repeated requests. An older session is played again, with the same result."""


class Sessions:
    """Plays each session once: a repeated request gets the same reply, during the session or after it."""

    def __init__(
        self,
        enrolments: Enrolments,
        device: Device,
        obfuscators: Obfuscators,
        auditor: Auditor,
        metrics: EdgeMetrics,
    ) -> None:
        self._enrolments, self._device, self._obfuscators = enrolments, device, obfuscators
        self._auditor, self._metrics = auditor, metrics
        self._done: OrderedDict[str, tuple[Session, asyncio.Task[SessionReply]]] = OrderedDict()

    async def play(self, order: Session) -> SessionReply:
        """The reply to a session.

        Raises the errors of the provider, the proxy or the data set, `SuspiciousModel` for a model that does
        not pass the session's audit, and `Conflict` for another session under the same upload id.
        """
        first, task = self._done.get(order.upload, (order, None))
        if task is not None and task.done() and (task.cancelled() or task.exception() is not None):
            first, task = order, None  # a failed session left nothing behind
        if first != order:
            raise Conflict(f"another session has the upload id {order.upload!r}", hint="give each its own")
        if task is None:
            task = asyncio.create_task(self._play(order))
            self._done[order.upload] = (order, task)
            while len(self._done) > REMEMBERED:
                self._done.popitem(last=False)
        return await asyncio.shield(task)  # a client that hangs up does not stop it for the others

    async def _play(self, order: Session) -> SessionReply:
        if order.asks:
            return await self._asked(order)
        chain = DefenceChain.parse(order.defence, outputs_at="device")
        enrolment = await self._enrolments.current(order.url, order.api_key, order.model)
        await self._auditor.check(enrolment, order.audit)
        samples, labels = await asyncio.to_thread(_user_samples, order, enrolment.card.input)
        client = self._enrolments.client(order.url, order.api_key)
        chain = await self._obfuscators.bound(chain, client, order.obfuscators)
        with tracing.outward("upload", model=order.model, samples=len(samples)):
            with tracing.span("on device"):
                values = await self._device.released(enrolment, order.release, samples, chain, order.upload)
            decisions = await client.upload(order.model, order.release, values, idempotency_key=order.upload)
            log.info("uploaded", model=order.model, samples=len(values))
        sent = len(encode_npy(values))
        self._metrics.uploaded(order.model, len(values), sent)
        return SessionReply(
            upload=order.upload,
            samples=len(values),
            decisions=decisions,
            labels=labels,
            input_bytes=samples.nbytes,
            sent_bytes=sent,
        )

    async def _asked(self, order: Session) -> SessionReply:
        """Ask a model that somebody else runs, with what the users' devices make of their samples."""
        chain = DefenceChain.parse(order.defence, outputs_at="device")
        client = self._enrolments.client(order.url, order.api_key)
        card = await client.card(order.model)
        samples, labels = await asyncio.to_thread(_user_samples, order, card.input)
        chain = await self._obfuscators.bound(chain, client, order.obfuscators)
        shown = await self._device.obfuscated(card.input, samples, chain, order.upload)
        endpoint = endpoint_of(card.service, order.release)
        parts = []
        for start in range(0, len(shown), card.max_batch):
            part = shown[start : start + card.max_batch]
            key = f"{order.upload}.{start}"
            parts.append(await client.query(order.model, endpoint, part, idempotency_key=key))
        values = np.concatenate(parts)
        log.info("asked", model=order.model, samples=len(values))
        decided = answers(values, card.heads or ())
        sent = len(encode_npy(shown))
        self._metrics.uploaded(order.model, len(values), sent)
        return SessionReply(
            upload=order.upload,
            samples=len(values),
            decisions=decided.tolist(),
            labels=labels,
            input_bytes=samples.nbytes,
            sent_bytes=sent,
            values=to_text(values),
        )


def _user_samples(order: Session, spec: SampleSpec) -> tuple[NDArray[Any], dict[str, list[int]]]:
    """The users' samples and their known labels. Raises `InvalidInput` for samples that the model does not
    take, and the errors of the data set."""
    if order.span is not None:
        data, chosen = span_of(order.span)
        columns = {**data.labels, NEAR_COPIES: data.group}
        return data.values[chosen], {name: labels[chosen].tolist() for name, labels in columns.items()}
    samples = from_text(order.samples or "")
    if samples.dtype != spec.dtype or samples.shape[1:] != spec.shape or not len(samples):
        raise InvalidInput(
            f"samples of {samples.dtype} and shape {samples.shape}; the model takes {spec.dtype} of "
            f"(samples, {', '.join(map(str, spec.shape))})"
        )
    return samples, {}
