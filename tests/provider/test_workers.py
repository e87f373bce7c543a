"""Several processes behind one port serve the same models to everybody."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.allocator import ALLOCATOR
from leakrange.services.provider.generation import COUNT, FileGeneration
from leakrange.wire.tensors import NPY, decode_npy, encode_npy
from tests.patience import patience
from tests.provider.conftest import KEY, OPERATOR, Provider
from tests.provider.tiny import CLASSES

ASKED = 12
"""New connections, which the kernel spreads: that all go to one of two workers is as likely as 1 in 2048."""
BINARY = {"Content-Type": NPY, "Accept": NPY}


@contextmanager
def workers(models_dir: Path, state_dir: Path, count: int) -> Iterator[str]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    told = {
        "OPERATOR_KEY": KEY,
        "PORT": str(port),
        "MODELS_DIR": str(models_dir),
        "STATE_DIR": str(state_dir),
        "WORKERS": str(count),
        "LOG_LEVEL": "error",
    }
    environment = os.environ | {f"LEAKRANGE_{name}": value for name, value in told.items()}
    for name in ALLOCATOR:
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "leakrange.services.provider"],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + patience(90)
        while len(numbers(url)) < count:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        if sys.platform == "linux":  # whoever starts it
            settings = Path(f"/proc/{process.pid}/environ").read_text().split("\0")
            assert set(settings) >= {f"{name}={value}" for name, value in ALLOCATOR.items()}
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def numbers(url: str) -> set[str]:
    """The workers that ``/metrics`` tells of."""
    try:
        text = httpx.get(f"{url}/metrics").text
    except httpx.TransportError:
        return set()
    return {line.partition('worker="')[2][0] for line in text.splitlines() if 'worker="' in line}


def each(url: str, method: str, path: str, **how: Any) -> list[httpx.Response]:
    """The same request over several new connections."""
    return [httpx.request(method, url + path, timeout=60, **how) for _ in range(ASKED)]


def test_what_one_worker_is_told_the_next_request_finds_at_all(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, images: NDArray[np.uint8]
) -> None:
    with workers(models_dir, tmp_path, 2) as url, httpx.Client(base_url=url, timeout=60) as client:
        one = Provider(url, client, models_dir)
        for digest in (digests["honest"], digests["other"]):
            one.deploy("m", digest).raise_for_status()
            expected = one.expected(digest, images, "logits")
            for answer in each(
                url, "POST", "/v1/models/m/logits", content=encode_npy(images), headers=BINARY
            ):
                np.testing.assert_allclose(decode_npy(answer.content), expected, rtol=1e-4, atol=1e-5)
        outputs = encode_npy(np.eye(len(CLASSES), dtype=np.float32))
        headers = {"Content-Type": NPY, "X-Release": "logits", "Idempotency-Key": "mine"}
        for answer in each(url, "POST", "/v1/models/m/outputs", content=outputs, headers=headers):
            assert answer.json()["decisions"] == [0, 1, 2]
        for answer in each(url, "GET", "/v1/operator/models/m/intake/mine", headers=OPERATOR):
            assert answer.json()["decisions"] == [0, 1, 2]

        one.deploy("faces", digests["honest"], service="verification", threshold=1.0).raise_for_status()
        people = [f"person-{number}" for number in range(ASKED)]
        for person in people:  # each over a connection of its own, and so at either worker
            httpx.put(
                f"{url}/v1/models/faces/gallery/{person}",
                content=encode_npy(images),
                headers=BINARY,
                timeout=60,
            ).raise_for_status()
        for answer in each(url, "GET", "/v1/models/faces/gallery"):
            assert {entry["person"] for entry in answer.json()["persons"]} == set(people)
        httpx.delete(f"{url}/v1/models/faces/gallery/{people[0]}").raise_for_status()
        for answer in each(
            url,
            "POST",
            f"/v1/models/faces/verification?person={people[0]}",
            content=encode_npy(images),
            headers=BINARY,
        ):
            assert answer.status_code == 404
        client.delete("/v1/operator/models/m", headers=OPERATOR).raise_for_status()
        assert {answer.status_code for answer in each(url, "GET", "/v1/models/m")} == {404}
        told = httpx.get(f"{url}/metrics").text.splitlines()
        asked = [line for line in told if line.startswith("leakrange_requests_total") and "logits" in line]
        assert {line.partition('worker="')[2][0] for line in asked} == {"0", "1"}


async def nothing() -> None:
    """There is no memory to bring up to date."""


async def test_a_change_that_died_is_ended_by_the_next_who_looks(tmp_path: Path) -> None:
    mine, other = FileGeneration(tmp_path), FileGeneration(tmp_path)
    for each_one in (mine, other):
        await each_one.open(nothing)
    before = mine.now
    async with other.changing():
        async with other.writing():
            assert mine.now == before + 1
            looking = asyncio.create_task(mine.settled())
            await asyncio.sleep(0)
            assert not looking.done()
        assert await looking == before + 2
    async with other.changing():
        with pytest.raises(OSError, match="disk"):
            async with other.writing():
                raise OSError("the disk is full")
        assert mine.now == before + 4
        (tmp_path / "generation").write_bytes(COUNT.pack(mine.now + 1))  # a process wrote this, and died
    assert mine.now % 2 == 1
    async with asyncio.timeout(5):
        assert await mine.settled() == before + 6
    await mine.close()
    await other.close()


async def test_only_one_changes_at_a_time(tmp_path: Path) -> None:
    several = [FileGeneration(tmp_path) for _ in range(3)]
    inside = 0

    async def change(generation: FileGeneration) -> None:
        nonlocal inside
        async with generation.changing():
            inside += 1
            await asyncio.sleep(0.005)
            assert inside == 1
            async with generation.writing():
                pass
            inside -= 1

    for generation in several:
        await generation.open(nothing)
    before = several[0].now
    await asyncio.gather(*(change(generation) for generation in several for _ in range(4)))
    assert {generation.now for generation in several} == {before + 24}
    for generation in several:
        await generation.close()
