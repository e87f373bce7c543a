"""What is simulated: how many there are of each part, what is asked of them, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from leakrange.load.simulate.costs import Costs
from leakrange.wire.errors import InvalidInput

__all__ = [
    "BLOCK",
    "POOLS",
    "PoolSizes",
    "Simulated",
    "SimulatedLoad",
    "check",
    "demands",
    "provider_seconds",
]

BLOCK = 4096
"""Samples of a leased block, which costs Redis one script."""
POOLS = {
    "network": "nodes",
    "controllers": "controllers",
    "proxies": "proxies",
    "Redis": "masters",
    "providers": "providers",
}
"""The field of `PoolSizes` of each part."""


@dataclass(frozen=True)
class PoolSizes:
    """How many there are of each part; ``nodes`` are machines of the proxies with so many ``gigabits`` a
    second in, and out. Without nodes the network costs nothing; without proxies the provider is asked
    directly."""

    proxies: int = 1
    masters: int = 1
    providers: int = 1
    controllers: int = 1
    nodes: int = 0
    gigabits: float = 25.0


@dataclass(frozen=True)
class SimulatedLoad:
    """What is asked, and how.

    ``clients`` connections ask again as soon as they are answered; or requests come at random, ``rate`` a
    second. ``fleet``: each client is a process of a worker, which a controller sends chunks. A request has
    ``samples`` of so many ``bytes``. A replica takes up to ``cap`` samples at once. ``machines``: numbers of
    cores, and the parties (client, proxy, redis, provider) that share them. Figures are of so many
    ``requests``, after a quarter as many. ``failing`` (redis, or provider for one replica) is dead for
    ``outage`` seconds, and figures are of twice that time. Of large pools one ``part``-th is simulated.
    """

    clients: int = 64
    rate: float | None = None
    samples: int = 1
    bytes: int = 12_288
    counting: str = "exact"
    fleet: bool = False
    cap: int = 16
    machines: tuple[tuple[int, frozenset[str]], ...] = ()
    requests: int = 4000
    failing: str | None = None
    outage: float = 1.0
    part: int = 1
    seed: int = 0

    @property
    def megabytes(self) -> float:
        """Of a request."""
        return self.samples * self.bytes / 1e6


@dataclass(frozen=True)
class Simulated:
    """What came of it: answered requests and samples a second; waits in ms, median, 99th percentile and
    longest; of each part the ``busy`` share of its time, the ``used`` share of what it could do at most,
    never woken and in full passes, and CPU seconds a request; the part that is full, if one is; requests
    refused."""

    rate: float
    samples: float
    p50: float
    p99: float
    longest: float
    busy: dict[str, float]
    used: dict[str, float]
    cpu: dict[str, float]
    limit: str | None
    refused: int


def provider_seconds(costs: Costs, load: SimulatedLoad) -> tuple[float, float, float]:
    """Seconds that a provider takes to read a request and answer it, for a pass, and for a sample in it."""
    body = load.megabytes * costs.seconds("provider_megabyte")
    return costs.seconds("provider_request") + body, costs.seconds("each_pass"), costs.seconds("sample")


def demands(costs: Costs, load: SimulatedLoad) -> dict[str, float]:
    """CPU seconds that a request takes of each part where it is never woken and every pass is full. A pool
    of n answers at most n / demand requests a second (Denning and Buzen 1978, "The Operational Analysis of
    Queueing Network Models", on bottlenecks)."""
    script, (reading, each_pass, sample) = costs.seconds("redis_script"), provider_seconds(costs, load)
    body = load.megabytes * costs.seconds("proxy_megabyte")
    every = {
        "proxies": costs.seconds(f"proxy_{load.counting}") + body,
        "Redis": script if load.counting == "exact" else script * load.samples / BLOCK,
        "providers": reading + load.samples * (each_pass / load.cap + sample),
    }
    return every | ({"controllers": costs.seconds("controller_chunk")} if load.fleet else {})


MOST = {"samples": 65_536, "bytes": 10**8, "cap": 65_536, "requests": 10**7}
"""The largest number of each; of all others a million."""


def check(costs: Costs, sizes: PoolSizes, load: SimulatedLoad) -> None:
    """Raise `InvalidInput`, with all that is wrong."""
    pools = {field: getattr(sizes, field) for field in POOLS.values()}
    numbers = {name: getattr(load, name) for name in ("clients", "part", *MOST)}
    wrong = [
        f"{name} is {value}: give {least} to {MOST.get(name, 10**6):,}"
        for name, value in (pools | numbers).items()
        for least in [0 if name in ("proxies", "nodes") else 1]
        if not least <= value <= MOST.get(name, 10**6)
    ]
    wrong += [f"cores are {cores}: give 1 to 1,024" for cores, _ in load.machines if not 1 <= cores <= 1024]
    for name, number in (("rate", load.rate or 1.0), ("outage", load.outage), ("gigabits", sizes.gigabits)):
        if not (math.isfinite(number) and number > 0):
            wrong.append(f"{name} is {number}: give a number above 0")
    if load.fleet and load.rate is not None:
        wrong.append("the fleet asks again when it is answered: give clients, and no rate")
    if load.failing == "provider" and sizes.providers // max(1, load.part) < 2:
        wrong.append("one provider is no pool to lose one of: give two or more")
    divided = pools | ({"clients": load.clients} if load.rate is None else {})
    divided.pop("" if load.fleet else "controllers", None)
    uneven = [name for name, value in divided.items() if value % max(1, load.part)]
    if uneven:
        wrong.append(f"of {', '.join(uneven)} 1 part of {load.part} is no whole number: choose another part")
    if not wrong:
        wrong = list(_overload(demands(costs, load), sizes, load))
    if wrong:
        raise InvalidInput(
            "; ".join(wrong), hint="python -m leakrange.load.simulate --help says what they are"
        )


def _overload(seconds: dict[str, float], sizes: PoolSizes, load: SimulatedLoad) -> Iterator[str]:
    """What cannot be answered, so that requests that come at random would wait ever longer."""
    if seconds["providers"] <= 0:
        yield "a provider takes time: give it costs above 0"
        return
    seconds = seconds | {"network": 8e-3 * load.megabytes / sizes.gigabits}
    for part, each in seconds.items():
        size = getattr(sizes, POOLS[part])
        if size and (load.rate or 0.0) * each > size:
            yield f"{part} ({size}): at most {size / each:,.0f} requests/s; lower the rate, or give more"
