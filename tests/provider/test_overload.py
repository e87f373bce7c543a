"""A slow net that is asked for four times what it can do: a server process, and clients that do not wait."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from leakrange.load.bench.serve import make_artifact, provider
from leakrange.wire.tensors import NPY, encode_npy

BATCH, QUEUE, SIZE = 2, 8, 32
HEADERS = {"Content-Type": NPY, "Accept": NPY}


async def test_what_is_accepted_waits_for_the_queue_at_most_and_the_rest_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKRANGE_QUEUE", str(QUEUE))
    make_artifact(tmp_path, SIZE, net="wide-resnet")
    images = np.random.default_rng(0).integers(0, 256, (BATCH, SIZE, SIZE, 3), np.uint8)
    accepted: list[float] = []
    refused: list[float] = []
    with provider(tmp_path, BATCH) as (url, _):
        async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as client:

            async def ask(body: bytes) -> None:
                begun = time.perf_counter()
                async with client.post("/v1/models/bench/logits", data=body, headers=HEADERS) as answer:
                    await answer.read()
                took = time.perf_counter() - begun
                if answer.status == 200:
                    accepted.append(took)
                else:
                    assert answer.status == 503
                    assert int(answer.headers["Retry-After"]) >= 1
                    refused.append(took)

            for _ in range(5):
                await ask(encode_npy(images))
            each = float(np.median(accepted)) / BATCH
            accepted.clear()
            asking = []
            one = encode_npy(images[:1])
            for _ in range(120):  # four times as many as it can answer
                asking.append(asyncio.create_task(ask(one)))
                await asyncio.sleep(each / 4)
            await asyncio.gather(*asking)
    assert len(accepted) + len(refused) == 120
    assert 20 <= len(accepted) <= 70
    worth = (QUEUE + BATCH) * each
    # Without a queue's end the last would wait five times as long. Other tests share the cores.
    assert np.percentile(accepted, 75) < 2 * worth
    assert np.median(refused) < each
