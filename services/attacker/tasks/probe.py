"""Probing: one request for one chunk of samples, under an identity that makes a repeat free."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.data.spans import samples_of
from leakrange.defences.chain import DefenceChain, questions
from leakrange.jobs.steps.probe import PROBE, ProbeJob
from leakrange.services.attacker.keys import derived_key
from leakrange.services.attacker.task import JobContext, fleet_task
from leakrange.store.files import put_array
from leakrange.store.releases import crafted_in
from leakrange.wire.client import NativeClient
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.transport import AiohttpTransport

if TYPE_CHECKING:
    from leakrange.devices.device import Device
    from leakrange.devices.enrolment import Enrolments
    from leakrange.devices.obfuscators import Obfuscators


class Connection:
    """An event loop and a client session for as long as the process lives: connections are kept open."""

    def __init__(self, timeout: float) -> None:
        # An `asyncio.Runner` prints the array that a query returned, to restore the handler of SIGINT.
        self._loop = asyncio.new_event_loop()
        self._timeout = timeout
        self._transport: AiohttpTransport | None = None
        self._device: tuple[Enrolments, Device, Obfuscators] | None = None

    def query(
        self, url: str, key: str, model: str, endpoint: str, samples: NDArray[Any], identity: str
    ) -> NDArray[np.float32]:
        """The release of a model for samples, or for pairs of them; a repeat of that identity is free."""

        async def ask() -> NDArray[np.float32]:
            client = NativeClient(self._reached(), url, key)
            return await client.query(model, endpoint, samples, idempotency_key=identity)

        return self._loop.run_until_complete(ask())

    def compute(
        self, job: ProbeJob, key: str, samples: NDArray[Any], chain: DefenceChain
    ) -> NDArray[np.float32]:
        """The release of a device with the downloaded model; the model is fetched if it is not here."""
        return self._loop.run_until_complete(self._compute(job, key, samples, chain))

    def bound(self, job: ProbeJob, key: str, chain: DefenceChain) -> DefenceChain:
        """The job's chain with its trained obfuscators; they are fetched if they are not here."""
        return self._loop.run_until_complete(self._bound(job, key, chain)) if chain.artifacts else chain

    async def _bound(self, job: ProbeJob, key: str, chain: DefenceChain) -> DefenceChain:
        _, _, obfuscators = self._as_device()
        client = NativeClient(self._reached(), job.url, key)
        return await obfuscators.bound(chain, client, job.obfuscators)

    async def _compute(
        self, job: ProbeJob, key: str, samples: NDArray[Any], chain: DefenceChain
    ) -> NDArray[np.float32]:
        enrolments, device, _ = self._as_device()
        enrolment = await enrolments.current(job.url, key, job.model)
        return await device.released(enrolment, RELEASES[job.endpoint], samples, chain, job.identity())

    def _as_device(self) -> tuple[Enrolments, Device, Obfuscators]:
        if self._device is None:
            self._device = _device(self._reached())
        return self._device

    def _reached(self) -> AiohttpTransport:
        if self._transport is None:
            self._transport = AiohttpTransport(timeout=self._timeout, connections=4)
        return self._transport

    def close(self) -> None:
        """Close the connections and the loop."""
        if self._device is not None:
            self._device[1].close()
        if self._transport is not None:
            self._loop.run_until_complete(self._transport.close())
        self._loop.close()


def _device(transport: AiohttpTransport) -> tuple[Enrolments, Device, Obfuscators]:
    """Imported here: the process that forks the workers must never have torch, and a probe that only asks
    needs none."""
    import torch

    from leakrange.devices.device import Device
    from leakrange.devices.enrolment import Enrolments
    from leakrange.devices.obfuscators import Obfuscators

    torch.set_num_threads(1)  # workers share the cores
    # the noise of the attacker's own outputs follows from the job alone: a repeat computes the same
    device = Device(SecretStr("attacker"), batch=64)
    obfuscators = Obfuscators(device.sticky_key, most=2, most_bytes=2**30)
    return Enrolments(transport, most=2, attempts=1), device, obfuscators


@lru_cache(maxsize=1)
def connection(timeout: float) -> Connection:
    """The process's connection."""
    return Connection(timeout)


@fleet_task(PROBE, seconds=180.0)
def probe(job: ProbeJob, context: JobContext) -> dict[str, Any]:
    """Ask for the releases of the span's samples, or of pairs of them, or compute them if the defence changes
    the model; store them, float32 (samples, ...)."""
    key = derived_key(job.account, context.settings)
    server = connection(context.settings.request_timeout)
    chain = server.bound(job, key, DefenceChain.parse(job.defence))
    begun = time.perf_counter()
    if chain.changes_model:
        released = server.compute(job, key, samples_of(job.span), chain)
    else:
        asked = questions(job, chain, crafted_in(context.releases))
        released = server.query(job.url, key, job.model, job.endpoint, asked, job.identity())
    seconds = time.perf_counter() - begun
    put_array(context.releases, PROBE.file(job.identity()), released.astype(np.float32))
    return {"samples": len(released), "seconds": round(seconds, 4)}
