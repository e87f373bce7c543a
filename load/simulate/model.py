"""The path of a request as queues: clients or the fleet, network, proxies, Redis, replicas of a provider.

Every process is an event loop on a core: it does one thing after the other, and each takes the CPU time that
was measured. A process that slept when something came pays for being woken as well, so that a lone request
costs more than one of many. A replica takes what waits, up to its cap, in one pass; a long request is cut,
and its parts take turns with the others. Processes have a core each, or share those of a machine.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import simpy

from leakrange.load.simulate.costs import Costs
from leakrange.load.simulate.sizes import (
    BLOCK,
    POOLS,
    PoolSizes,
    Simulated,
    SimulatedLoad,
    check,
    demands,
    provider_seconds,
)

__all__ = ["SimulatedProcess", "simulate"]

Steps = Generator[simpy.Event, Any, Any]
TURN = 1e-3
"""Seconds for which a process has a shared core before the next one gets it."""
FULL = 0.9
"""The used share from which on a part is said to be full."""
HELD = 1.0
"""Seconds for which a proxy goes on with a leased block after Redis last confirmed it."""
RETRY = 1.0
"""Seconds after which a client asks again that was refused, as ``Retry-After`` says."""


class SimulatedProcess:
    """A process that does one thing after the other, and pays ``woken`` seconds where it slept before. On a
    core of its own, or on the ``cores`` of a machine. What it does takes more or less by chance: lognormal,
    with this ``variation`` (deviation over mean)."""

    def __init__(
        self,
        env: simpy.Environment,
        draw: random.Random,
        variation: float = 0.0,
        woken: float = 0.0,
        cores: simpy.Resource | None = None,
    ) -> None:
        self.env, self.woken, self.cores = env, woken, cores
        self._draw, self._sigma = draw, math.sqrt(math.log1p(variation**2))
        self.spent, self.free = 0.0, -1.0
        self._turns = simpy.Resource(env)

    def do(self, seconds: float) -> Steps:
        """Do what takes so many seconds of CPU time, after all that came before."""
        now = self.env.now
        seconds += self.woken if now > self.free and not self._turns.count else 0.0
        if self._sigma:
            seconds *= self._draw.lognormvariate(-(self._sigma**2) / 2, self._sigma)
        self.spent += seconds
        if self.cores is None:
            self.free = max(now, self.free) + seconds
            yield self.env.timeout(self.free - now)
            return
        with self._turns.request() as turn:
            yield turn
            while seconds > 0:
                with self.cores.request() as core:
                    yield core
                    yield self.env.timeout(min(seconds, TURN))
                seconds -= TURN
            self.free = self.env.now


@dataclass(eq=False, slots=True)
class _SimulatedRequest:
    answered: simpy.Event
    left: int
    proxy: int


class _Replica(SimulatedProcess):
    """One replica of the provider."""

    def __init__(self, system: _System) -> None:
        super().__init__(*system.process("provider"))
        self._system, self.alive = system, True
        self._waiting: deque[_SimulatedRequest] = deque()
        self._came = 0
        self._bell = self.env.event()
        self.env.process(self._work())

    def ask(self, asked: _SimulatedRequest) -> None:
        """Have a request wait."""
        self._waiting.append(asked)
        self._came += 1
        if not self._bell.triggered:
            self._bell.succeed()

    def _work(self) -> Steps:
        load, (reading, each_pass, sample) = self._system.load, self._system.provider_seconds
        while True:
            if not self._waiting:
                self._bell = self.env.event()
                yield self._bell
            read, self._came = self._came * reading, 0
            ended: list[_SimulatedRequest] = []
            cut: list[_SimulatedRequest] = []
            room = load.cap
            while self._waiting and room:
                asked = self._waiting.popleft()
                taken = min(room, asked.left)
                asked.left -= taken
                room -= taken
                (cut if asked.left else ended).append(asked)
            yield from self.do(read + each_pass + sample * (load.cap - room))
            self._waiting.extend(cut)
            if self.alive:
                for asked in ended:
                    asked.answered.succeed()
                continue
            lost, self._waiting, self._came = [*ended, *self._waiting], deque(), 0
            for asked in lost:
                asked.left = load.samples
                self._system.ask(asked.proxy, asked)


class _System:
    """All processes, and what is counted of them."""

    def __init__(self, costs: Costs, sizes: PoolSizes, load: SimulatedLoad) -> None:
        self.env, self.load, self.seconds = simpy.Environment(), load, costs.seconds
        self._draw, self._variation = random.Random(load.seed), costs.variation.value
        pools = [(simpy.Resource(self.env, cores), parties) for cores, parties in load.machines]
        self.cores = {party: pool for pool, parties in pools for party in parties}
        self.provider_seconds = provider_seconds(costs, load)
        self._link = 8e-3 * load.megabytes / sizes.gigabits
        self.replicas = [_Replica(self) for _ in range(sizes.providers)]
        proxies = range(max(1, sizes.proxies))
        self._busy = [dict.fromkeys(self.replicas, 0) for _ in proxies]
        self._turns = [{each: self._draw.random() for each in self.replicas} for _ in proxies]
        self.client = SimulatedProcess(*self.process("client"))
        self.parts: dict[str, Sequence[SimulatedProcess]] = {
            "network": [SimulatedProcess(self.env, self._draw) for _ in range(sizes.nodes)],
            "controllers": [
                SimulatedProcess(self.env, self._draw, self._variation)
                for _ in range(sizes.controllers if load.fleet else 0)
            ],
            "proxies": [SimulatedProcess(*self.process("proxy")) for _ in range(sizes.proxies)],
            "Redis": [
                SimulatedProcess(*self.process("redis")) for _ in range(sizes.masters if sizes.proxies else 0)
            ],
            "providers": self.replicas,
        }
        self._redis_down = math.inf
        self.waits: list[float] = []
        self.answered = self.refused = 0
        self._goal, self._reached = 0, self.env.event()

    def process(self, party: str) -> tuple[simpy.Environment, random.Random, float, float, Any]:
        """What a process of this party is made of."""
        return self.env, self._draw, self._variation, self.seconds(f"{party}_wake"), self.cores.get(party)

    def ask(self, proxy: int, asked: _SimulatedRequest) -> _Replica:
        """Ask a replica: that which has the fewest requests of this proxy, by turns among equals."""
        busy, turns = self._busy[proxy], self._turns[proxy]
        chosen = min(self.replicas, key=lambda each: (not each.alive, busy[each], turns[each]))
        busy[chosen] += 1
        turns[chosen] = self.env.now + 1.0
        chosen.ask(asked)
        return chosen

    def request(self, number: int) -> Steps:
        """One request of a connection, until it is answered (true) or refused."""
        load, env, seconds, began = self.load, self.env, self.seconds, self.env.now
        link, controller, proxy = (
            self.parts[name][number % len(self.parts[name])] if self.parts[name] else None
            for name in ("network", "controllers", "proxies")
        )
        worker = (seconds("worker_chunk") + load.samples * seconds("worker_sample")) / 2
        if controller:
            yield from controller.do(seconds("controller_chunk") / 2)
            yield env.timeout(worker)
        if link:
            yield from link.do(self._link)
            yield env.timeout(self._link)
        if proxy and not (yield from self._charge(proxy)):
            return False
        place = number % max(1, len(self.parts["proxies"]))
        asked = _SimulatedRequest(env.event(), load.samples, place)
        replica = self.ask(place, asked)
        yield asked.answered
        self._busy[place][replica] -= 1
        if proxy:
            yield from proxy.do(self._proxy_step)
        client = seconds("client_request") + load.megabytes * seconds("client_megabyte")
        if controller:
            yield env.timeout(worker)
            yield from controller.do(seconds("controller_chunk") / 2)
        elif self.cores:
            yield from self.client.do(client)
        else:
            yield env.timeout(client + seconds("client_wake"))
        self.waits.append(env.now - began)
        self.answered += 1
        if self.answered == self._goal:
            self._reached.succeed()
        return True

    @property
    def _proxy_step(self) -> float:
        """A proxy takes a request up three times, and twice where no answer of Redis is awaited."""
        counting = self.load.counting
        return self.seconds(f"proxy_{counting}") / (3 if counting == "exact" else 2)

    def _charge(self, proxy: SimulatedProcess) -> Steps:
        """A proxy takes a request in, and pays for it: whether it may go on."""
        leased, script = self.load.counting == "leased", self.seconds("redis_script")
        body = self.load.megabytes * self.seconds("proxy_megabyte")
        yield from proxy.do(self._proxy_step + (body if leased else 0.0))
        if self.env.now > self._redis_down + (HELD if leased else 0.0):
            self.refused += 1
            return False
        master = self._draw.choice(self.parts["Redis"])
        if leased:
            master.spent += script * self.load.samples / BLOCK
        else:
            yield from master.do(script)
            yield from proxy.do(self._proxy_step + body)
        return True

    def run(self, answered: int) -> None:
        """Go on until so many more requests are answered."""
        self._goal, self._reached = self.answered + answered, self.env.event()
        self.env.run(self._reached)

    def connection(self, number: int) -> Steps:
        """A client that asks again as soon as it is answered."""
        yield self.env.timeout(self._draw.random() * 1e-3)
        while True:
            if not (yield from self.request(number)):
                yield self.env.timeout(RETRY)

    def arrivals(self, rate: float) -> Steps:
        """Requests that come at random, whoever is answered."""
        while True:
            yield self.env.timeout(self._draw.expovariate(rate))
            self.env.process(self.request(self._draw.randrange(1 << 30)))

    def fail(self, part: str) -> Steps:
        """Redis or one replica is dead for the load's ``outage``."""
        self.replicas[0].alive = part != "provider"
        self._redis_down = self.env.now if part == "redis" else math.inf
        yield self.env.timeout(self.load.outage)
        self.replicas[0].alive, self._redis_down = True, math.inf

    def spent(self) -> dict[str, float]:
        """CPU seconds of each part until now; of the network, seconds in which bytes went over it."""
        return {name: sum(each.spent for each in part) for name, part in self.parts.items() if part}


def simulate(costs: Costs, sizes: PoolSizes, load: SimulatedLoad) -> Simulated:
    """Simulate this load with so many of each part. Raises `InvalidInput` where figures make no sense."""
    check(costs, sizes, load)
    pools = {field: getattr(sizes, field) // load.part for field in POOLS.values()}
    system = _System(costs, replace(sizes, **pools), load)
    if load.rate is None:
        for number in range(load.clients // load.part):
            system.env.process(system.connection(number))
    else:
        system.env.process(system.arrivals(load.rate / load.part))
    system.run(max(1, load.requests // 4))
    began, before, refused = system.env.now, system.spent(), system.refused
    system.waits.clear()
    if load.failing:
        system.env.process(system.fail(load.failing))
        system.env.run(began + 2 * load.outage)
    else:
        system.run(load.requests)
    took, answered = system.env.now - began, max(1, len(system.waits))
    cpu = {name: (spent - before[name]) / answered for name, spent in system.spent().items()}
    each = {name: answered / took / len(system.parts[name]) for name in cpu}
    used = {name: demands(costs, load).get(name, cpu[name]) * each[name] for name in cpu}
    fullest = max(used, key=lambda name: used[name])
    p50, p99, longest = 1e3 * np.percentile(system.waits or [math.nan], [50, 99, 100])
    rate = len(system.waits) / took * load.part
    return Simulated(
        rate=rate,
        samples=rate * load.samples,
        p50=float(p50),
        p99=float(p99),
        longest=float(longest),
        busy={name: cpu[name] * each[name] for name in cpu},
        used=used,
        cpu=cpu,
        limit=fullest if used[fullest] >= FULL else None,
        refused=(system.refused - refused) * load.part,
    )
