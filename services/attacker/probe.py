"""Probing: one chunk of samples asked of a model over HTTP, under the attacker's API key."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data import load
from leakrange.store.files import put_array
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import InvalidInput
from leakrange.wire.jobs import ProbeJob, Span
from leakrange.wire.transport import AiohttpTransport
from services.attacker.work import Work, fleet_task

__all__ = ["probe", "samples_of"]

ATTEMPTS = 9
"""Over some ten seconds: a proxy that is restarting, or that is answering the same chunk, is waited for."""


def samples_of(span: Span) -> NDArray[np.int64]:
    """Indices of the samples of ``span`` in its data set; raises `InvalidInput` where the split is
    shorter.
    """
    indices = load(span.data).where(span.split)
    if span.stop > len(indices):
        raise InvalidInput(
            f"{span.data.name} has {len(indices)} {span.split} images, not {span.stop}",
            hint="lower the budget or the number of auxiliary records, or take a larger set",
        )
    return indices[span.start : span.stop]


def _stored(work: Work[ProbeJob]) -> bool:
    return work.releases.exists(f"{work.identity}.npy")


@fleet_task("probe", ProbeJob, stored=_stored)
def probe(work: Work[ProbeJob]) -> dict[str, Any]:
    """Ask for the releases of the span and store them, float32 (samples, N).

    The identity is the idempotency key: if this worker dies between the answer and the disk, the next one is
    given the same answer again, and no budget is spent.
    """
    job = work.job
    images = load(job.span.data).images[samples_of(job.span)]
    begun = time.monotonic()
    values = asyncio.run(_ask(job, images, work.identity))
    put_array(work.releases, f"{work.identity}.npy", values)
    return {"samples": len(values), "seconds": round(time.monotonic() - begun, 3)}


async def _ask(job: ProbeJob, images: NDArray[np.uint8], identity: str) -> NDArray[np.float32]:
    transport = AiohttpTransport()
    try:
        client = NativeClient(transport, job.url, job.api_key, attempts=ATTEMPTS)
        return await client.query(job.model, job.release, images, idempotency_key=f"{identity}")
    finally:
        await transport.close()
