"""Load by wrk: one thread that costs a tenth of what a client in Python does."""

from __future__ import annotations

import asyncio
import re
import shutil
from functools import cache
from tempfile import NamedTemporaryFile

from leakrange.load.bench.harness import Figures, cpu_seconds

__all__ = ["measure_by_wrk", "wrk"]

MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


@cache
def wrk() -> str | None:
    """Path of wrk; None where it is not installed."""
    return shutil.which("wrk")


async def measure_by_wrk(
    url: str, headers: dict[str, str], body: bytes, connections: int, seconds: float, server: int
) -> Figures:
    """Measure as `leakrange.load.bench.harness.measure` does. wrk counts whole seconds: it takes as many
    as are needed."""
    escaped = "".join(f"\\{byte:03d}" for byte in body)
    lines = ['wrk.method = "POST"', f'wrk.body = "{escaped}"']
    lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
    with NamedTemporaryFile("w", suffix=".lua") as script:
        script.write("\n".join(lines))
        script.flush()
        before = cpu_seconds(server)
        took = max(1, round(seconds))
        process = await asyncio.create_subprocess_exec(
            wrk() or "wrk",
            *("-t1", f"-c{connections}", f"-d{took}s", "--latency", "-s", script.name, url),
            stdout=asyncio.subprocess.PIPE,
        )
        text = (await process.communicate())[0].decode()
        spent = cpu_seconds(server) - before
    answered = re.search(r"(\d+) requests in ([\d.]+)(\w+),", text)
    if process.returncode or answered is None or "Non-2xx" in text:
        raise SystemExit(f"wrk met errors at {url}:\n{text}")
    count, within = int(answered[1]), float(answered[2]) * MILLISECONDS[answered[3]] / 1e3
    p50, p99 = (_milliseconds(text, share) for share in (50, 99))
    return Figures(count / within, spent / count * 1e3, p50, p99)


def _milliseconds(text: str, share: int) -> float:
    match = re.search(rf"{share}%\s+([\d.]+)(us|ms|s|m)\b", text)
    return float(match[1]) * MILLISECONDS[match[2]] if match else float("nan")
