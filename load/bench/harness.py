"""The base of all benchmarks: server processes, clients that ask as fast as they get answers, CPU time, and
facts about the machine."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import aiohttp
import numpy as np

from leakrange.allocator import ALLOCATOR

__all__ = [
    "Figures",
    "cpu_seconds",
    "free_port",
    "machine",
    "measure",
    "running",
    "versions",
    "with_allocator",
]


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, and of installed packages."""
    return {"Python": platform.python_version()} | {name: version(name) for name in packages}


@contextmanager
def machine(*packages: str) -> Iterator[None]:
    """Print the machine and its versions, and its load before and after."""
    print(", ".join(f"{name} {each}" for name, each in versions(*packages).items()))
    load = f"load average {os.getloadavg()[0]:.2f} before"
    print(f"{os.cpu_count()} cores, {platform.machine()}, {load}", flush=True)
    yield
    print(f"load average {os.getloadavg()[0]:.2f} after")


def free_port() -> int:
    """A port of 127.0.0.1 where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str],
    port: int,
    environment: Mapping[str, str] | None = None,
    core: int | None = None,
    folder: Path | None = None,
) -> Iterator[int]:
    """Run a server process in a ``folder``, which may be bound to one ``core``. Yields its id once it listens
    on ``port``. Its children end with it."""
    pinned = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
    variables = os.environ | (environment or {})
    process = subprocess.Popen(
        command,
        env=variables,
        cwd=folder,
        preexec_fn=pinned,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
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
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=15)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children, also of those that ended and were waited for; NaN where the
    system does not tell (it is not Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return float("nan")
    seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds + sum(cpu_seconds(int(child)) for child in children)


async def drive(
    url: str, body: bytes, headers: Mapping[str, str], connections: int, seconds: float
) -> list[float]:
    """Latencies in seconds of all requests that so many connections had answered within ``seconds``."""
    latencies: list[float] = []
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def client(until: float) -> None:
            while (began := time.perf_counter()) < until:
                async with session.post(url, data=body) as answer:
                    received = await answer.read()
                    if answer.status != 200:
                        raise SystemExit(f"HTTP {answer.status}: {received[:300]!r}")
                latencies.append(time.perf_counter() - began)

        until = time.perf_counter() + seconds
        await asyncio.gather(*(client(until) for _ in range(connections)))
    return latencies


@dataclass(frozen=True)
class Figures:
    """One measurement: requests per second, and milliseconds; ``cpu`` is the server's per request."""

    rate: float
    cpu: float
    p50: float
    p99: float

    @classmethod
    def of(cls, times: Sequence[float], seconds: float, cpu: float) -> Figures:
        """Figures of requests that took so many ``times``, within ``seconds`` in which the server used
        ``cpu`` seconds."""
        p50, p99 = np.percentile(times, [50, 99]) * 1e3
        return cls(len(times) / seconds, cpu / len(times) * 1e3, p50, p99)


async def measure(
    url: str, headers: dict[str, str], body: bytes, connections: int, seconds: float, server: int
) -> Figures:
    """Ask as fast as answers come over so many connections, after a tenth of the time to warm up."""
    await drive(url, body, headers, connections, seconds / 10)
    before = cpu_seconds(server)
    times = await drive(url, body, headers, connections, seconds)
    return Figures.of(times, seconds, cpu_seconds(server) - before)


def with_allocator(module: str) -> None:
    """Restart ``module`` under the allocator's settings, unless it has them: glibc reads them at start."""
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], os.environ | ALLOCATOR)
