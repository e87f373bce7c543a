"""Probing: one request for one chunk of samples, under an identity that makes a repeat free."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.spans import span_of
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.job import ProbeJob
from leakrange.store.files import FolderStore, put_array, whole
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.keys import api_key
from leakrange.wire.transport import AiohttpTransport
from services.attacker.settings import FleetSettings
from services.attacker.task import JobContext, fleet_task

__all__ = ["probe"]


class _Connection:
    """An event loop and a client session for as long as the process lives: connections are kept open."""

    def __init__(self, timeout: float) -> None:
        self._runner = asyncio.Runner()
        self._timeout = timeout
        self._transport: AiohttpTransport | None = None

    def query(self, job: ProbeJob, key: str, samples: NDArray[Any]) -> NDArray[np.float32]:
        return self._runner.run(self._query(job, key, samples))

    async def _query(self, job: ProbeJob, key: str, samples: NDArray[Any]) -> NDArray[np.float32]:
        if self._transport is None:
            self._transport = AiohttpTransport(timeout=self._timeout, connections=4)
        client = NativeClient(self._transport, job.url, key)
        return await client.query(job.model, job.endpoint, samples, idempotency_key=job.identity())

    def close(self) -> None:
        if self._transport is not None:
            self._runner.run(self._transport.close())
        self._runner.close()


@lru_cache(maxsize=1)
def _connection(timeout: float) -> _Connection:
    return _Connection(timeout)


def _stored(settings: FleetSettings, identity: str) -> bool:
    return whole(FolderStore(settings.releases_dir), f"{identity}.npy")


def _key(account: str, settings: FleetSettings) -> str:
    if settings.fleet_secret is None:
        raise LeakrangeError(
            "a worker that probes has no secret to make its API keys of",
            hint="set its LEAKRANGE_FLEET_SECRET to the controller's",
        )
    return api_key(settings.fleet_secret.get_secret_value(), account)


@fleet_task(ProbeJob, seconds=180.0, stored=_stored)
def probe(job: ProbeJob, context: JobContext) -> dict[str, Any]:
    """Ask for the releases of the span's samples, or of pairs of them; store them, float32 (samples, ...)."""
    key = _key(job.account, context.settings)
    data, chosen = span_of(job.span)
    if job.pairs is not None:
        chosen = chosen[np.array(job.pairs)]
    draw = np.random.default_rng(int(job.identity(), 16))  # a repeat sends the same samples
    samples = DefenceChain.parse(job.defence).obfuscate(data.values[chosen], data.spec, draw)
    begun = time.perf_counter()
    released = _connection(context.settings.request_timeout).query(job, key, np.ascontiguousarray(samples))
    seconds = time.perf_counter() - begun
    put_array(context.releases, f"{job.identity()}.npy", released.astype(np.float32))
    return {"samples": len(samples), "seconds": round(seconds, 4)}
