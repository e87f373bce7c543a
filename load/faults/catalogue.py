"""The faults: each breaks a range in the middle of a run, and describes the consequence."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from leakrange.load.faults.nonsense import nonsense
from leakrange.load.faults.postgresql import own_controller
from leakrange.load.faults.standing import FaultRun, FaultyRange, Wrong
from leakrange.load.kill_drill import until
from leakrange.service.parties import REDIS, SERVERS

__all__ = ["FAULTS", "Fault"]

FAULTS: list[Fault] = []


@dataclass(frozen=True)
class Fault:
    """``carry_out`` takes a range and a number that no other fault has, and returns the consequence in
    words."""

    done: str
    carry_out: Callable[[FaultyRange, int], str]


def fault(done: str) -> Callable[[Callable[[FaultyRange, int], str]], None]:
    """Add a function to the list of faults."""
    return lambda carry_out: FAULTS.append(Fault(done, carry_out))


def started(standing: FaultyRange, number: int) -> FaultRun:
    """Start a run, and wait until some of its chunks are answered."""
    run = standing.run(f"fault-{number}", number)
    run.until_probed(3)
    return run


def killed(party: str) -> Callable[[FaultyRange, int], str]:
    """A fault that kills a party with all its children in the middle of a run."""

    def carry_out(standing: FaultyRange, number: int) -> str:
        run = started(standing, number)
        seconds = standing.kill(party)
        return f"back after {seconds:.0f} s; {run.done()}"

    return carry_out


for _party in (*SERVERS, "provider-honest", "edge", "controller", "attacker-1"):
    fault(f"{_party} killed in mid-run")(killed(_party))


@fault("Redis killed in mid-run, and its data deleted")
def _(standing: FaultyRange, number: int) -> str:
    run = started(standing, number)
    before = standing.record.party(REDIS).restarts
    standing.signal(REDIS, signal.SIGKILL)
    shutil.rmtree(standing.folder.of_redis(REDIS) / "appendonlydir")
    error, _, _ = run.failed("Redis has lost its data").partition(":")
    standing.until_back(REDIS, before)
    again = standing.run(f"fault-{number}", number)
    again.ended()
    paid = again.check_ledger()
    return f"the run fails: “{error} …”; started again it is done, and asks {paid} samples anew"


@fault("all queues, orders, leases and reports deleted from Redis")
def _(standing: FaultyRange, number: int) -> str:
    run = started(standing, number)
    with redis.Redis.from_url(standing.redis_url("operator")) as broker:
        lost = broker.dbsize()
        broker.flushall()
    return f"{lost} keys lost; {run.done()}"


@fault("PostgreSQL killed in mid-run, and started again")
def _(standing: FaultyRange, number: int) -> str:
    with own_controller(standing) as (controller, server):
        run = standing.run(f"fault-{number}", number, at=controller)
        run.until_probed(3)
        server.kill()
        server.start_again()
        return run.done()


@contextmanager
def before_asking(standing: FaultyRange, number: int) -> Iterator[FaultRun]:
    """Start a run whose attackers stand still in the block, with chunks that wait for them. A quick range
    would have answered them all before a fault begins."""
    attackers = [party.name for party in standing.first.parties if party.name.startswith("attacker-")]
    for attacker in attackers:
        standing.signal(attacker, signal.SIGSTOP)
    try:
        run = standing.run(f"fault-{number}", number)
        with redis.Redis.from_url(standing.redis_url("operator")) as broker:
            until(lambda: int(str(broker.llen("probe"))) > 0, "chunks to wait for attackers")
        yield run
    finally:
        for attacker in attackers:
            standing.signal(attacker, signal.SIGCONT)


@fault("proxy killed with samples reserved")
def _(standing: FaultyRange, number: int) -> str:
    with before_asking(standing, number) as run:
        standing.signal("provider-honest", signal.SIGSTOP)  # so that its requests stay open
    try:
        until(lambda: standing.account(run.attacker)["reserved"] > 0, "samples to be reserved")
        held = standing.account(run.attacker)["reserved"]
        seconds = standing.kill("proxy")
    finally:
        standing.signal("provider-honest", signal.SIGCONT)
    return f"{held} samples were reserved; back after {seconds:.0f} s; {run.done()}"


@fault("the route of a model led to a server that drips and talks nonsense, for 12 requests")
def _(standing: FaultyRange, number: int) -> str:
    with nonsense() as server:
        with before_asking(standing, number) as run:
            model = standing.account(run.attacker)["models"][0]
            route = f"{standing.first.proxy}/admin/routes/{model}"
            upstream = standing.ask("GET", route)["upstream"]
            standing.ask("PUT", route, json={"upstream": server.url})
        until(lambda: server.asked >= 12, "12 requests to be answered with nonsense")
        standing.ask("PUT", route, json={"upstream": upstream})
    return run.done()


@fault("a process that probes killed in mid-chunk, as for want of memory")
def _(standing: FaultyRange, number: int) -> str:
    run = started(standing, number)
    worker = standing.record.party("attacker-1").pid
    [fork, *_] = children(worker)
    os.kill(fork, signal.SIGKILL)
    return run.done()


@fault("a training killed, as for want of memory")
def _(standing: FaultyRange, number: int) -> str:
    run = standing.run(f"fault-{number}", number, seed=number, epochs=60)
    trainer = standing.record.party("trainer").pid
    trainings: list[int] = []

    def has_begun() -> bool:
        deep = [
            fork for child in children(trainer) for server in children(child) for fork in children(server)
        ]
        trainings[:] = deep
        return bool(deep)

    until(has_begun, "a training to begin")
    os.kill(trainings[0], signal.SIGKILL)
    error = run.failed("memory")
    again = standing.run(f"fault-{number}", number, seed=number, epochs=60)
    return f"the run fails: “{error.partition(': ')[2]}”; started again: {again.done(run)}"


@fault("no room left where releases are stored")
def _(standing: FaultyRange, number: int) -> str:
    with filled(standing.folder.releases) as free:
        run = started(standing, number)
        free()
        error = run.failed("the disk is full")
    again = standing.run(f"fault-{number}", number)
    again.ended()
    paid = again.check_ledger()
    return f"the run fails: “{error}”; started again with room it is done, and asks {paid} samples anew"


@fault("SIGTERM to every party in turn, in mid-run")
def _(standing: FaultyRange, number: int) -> str:
    run = started(standing, number)
    names = [party.name for party in standing.first.parties]
    for name in names:
        before = standing.record.party(name).restarts
        pid = standing.record.party(name).pid
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        standing.until_back(name, before)
    return f"{len(names)} parties ended and were started again; {run.done()}"


def children(pid: int | None) -> list[int]:
    """Child processes of a process."""
    listing = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True).stdout
    pairs = (line.split() for line in listing.splitlines())
    return [int(child) for child, parent in pairs if int(parent) == pid]


@contextmanager
def filled(folder: Path) -> Iterator[Callable[[], None]]:
    """Yield a function that fills the disk of ``folder``; there is room again when the block ends."""
    if not os.path.ismount(folder):
        raise Wrong("not tried: a small disk can be mounted by root alone")
    filler = folder.with_name("releases") / "filler"

    def fill() -> None:
        with filler.open("wb", buffering=0) as file:
            for size in (2**16, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    try:
        yield fill
    finally:
        filler.unlink(missing_ok=True)
