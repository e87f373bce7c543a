"""The parties of an embedded range: what each is started with, and no more than it needs to know.

Attackers get neither the operator key nor the database: what they learn, they learn over the wire. Of Redis,
each party reaches what is its own.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import orjson

from clients.cli.embedded.redis_server import User, redis_command, redis_url
from clients.cli.embedded.state import StateFolder
from leakrange.allocator import ALLOCATOR

__all__ = ["Party", "parties"]

# One thread for each process that computes: the parties share the cores, and OpenMP collapses when it waits.
SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PASSED_ON = (
    "LEAKRANGE_ALLOWED_HOSTS",
    "LEAKRANGE_CACHE",
    "LEAKRANGE_LOG_LEVEL",
    "LEAKRANGE_WITHDRAW_AFTER",
)


@dataclass(frozen=True)
class Party:
    """A process to run. ``answers`` is how its readiness is seen: over HTTP at ``port``, by Redis' own
    protocol, or through Redis as the worker that it calls itself.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    port: int | None
    answers: Literal["http", "redis", "celery"]
    queues: str = ""

    def node(self, pid: int) -> str:
        """The name by which a worker answers that runs as process ``pid``."""
        return f"{self.queues.replace(',', '-')}-{pid}@{socket.gethostname()}"


def parties(folder: StateFolder, ports: Mapping[str, int], *, workers: int) -> list[Party]:
    """All parties, the Redis-protocol server first. ``workers`` is how many attackers there are besides the
    trainer.
    """
    urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    shared = _inherited()
    operated = shared | {"LEAKRANGE_OPERATOR_KEY": folder.secret("operator")}
    probing = {"LEAKRANGE_FLEET_SECRET": folder.secret("fleet")}
    models = {"LEAKRANGE_MODELS_DIR": str(folder.models)}
    releases = {"LEAKRANGE_RELEASES_DIR": str(folder.releases)}
    computing = dict(ALLOCATOR) | SINGLE_THREAD

    def redis(user: User) -> dict[str, str]:
        return {"LEAKRANGE_REDIS_URL": redis_url(folder, ports["redis"], user)}

    def server(name: str, module: str, *environments: Mapping[str, str]) -> Party:
        environment = {
            "LEAKRANGE_HOST": "127.0.0.1",
            "LEAKRANGE_PORT": str(ports[name]),
            "LEAKRANGE_STATE_DIR": str(folder.of_party(name)),
        }
        for more in environments:
            environment |= more
        return Party(name, (sys.executable, "-m", module), environment, ports[name], "http")

    def provider(behaviour: str) -> Party:
        name = f"provider-{behaviour}"
        named = {"LEAKRANGE_PROVIDER_NAME": behaviour}
        return server(name, "services.provider", operated, models, computing, named)

    def worker(name: str, queues: str, concurrency: int, *environments: Mapping[str, str]) -> Party:
        environment: dict[str, str] = {}
        for more in environments:
            environment |= more
        command = (
            sys.executable,
            "-m",
            "services.attacker",
            "--queues",
            queues,
            "--concurrency",
            str(concurrency),
        )
        return Party(name, command, environment, None, "celery", queues)

    cores = os.cpu_count() or 1
    return [
        Party("redis", redis_command(folder, ports["redis"]), shared, ports["redis"], "redis"),
        server("proxy", "services.proxy", operated, redis("proxy")),
        provider("honest"),
        provider("curious"),
        server("edge", "clients.edge", operated, computing),
        server(
            "controller",
            "services.controller",
            operated,
            redis("controller"),
            probing,
            models,
            releases,
            SINGLE_THREAD,
            {
                "LEAKRANGE_DATABASE_URL": f"sqlite+aiosqlite:///{folder.database}",
                "LEAKRANGE_PROVIDERS": orjson.dumps(
                    {behaviour: urls[f"provider-{behaviour}"] for behaviour in ("honest", "curious")}
                ).decode(),
                "LEAKRANGE_PROXY_URL": urls["proxy"],
                "LEAKRANGE_PROXY_PUBLIC_URL": urls["proxy"],
                "LEAKRANGE_EDGE_URL": urls["edge"],
            },
        ),
        *(
            worker(f"attacker-{i}", "probe,fit", 2, shared, redis("fleet"), probing, releases, computing)
            for i in range(1, workers + 1)
        ),
        worker(
            "trainer",
            "train",
            cores,
            shared,
            redis("fleet"),
            models,
            releases,
            computing,
            {"LEAKRANGE_TRAIN_THREADS": "1"},
        ),
    ]


def _inherited() -> dict[str, str]:
    """Our own environment without its LEAKRANGE_ variables, but for those that every party may have."""
    passed = {name: value for name, value in os.environ.items() if not name.startswith("LEAKRANGE_")}
    for name in PASSED_ON:
        if value := os.environ.get(name):
            passed[name] = value
    # The parties of a range talk to each other directly, whatever proxy leads out of this machine.
    for name in ("NO_PROXY", "no_proxy"):
        passed[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1", "localhost")))
    if data := os.environ.get("LEAKRANGE_DATA"):
        passed["LEAKRANGE_DATA"] = str(Path(data).absolute())  # parties work in folders of their own
    return passed
