"""The processes of an embedded range. Each is started with the settings that it needs, and no others.

`leakrange.service.parties` declares these: attackers get neither the operator key nor the database, and each
party reaches only its own keys in Redis.
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

from clients.cli.embedded.redis_server import redis_command, redis_url
from clients.cli.embedded.state import StateFolder
from leakrange.allocator import ALLOCATOR
from leakrange.scenario.registered import behaviours
from leakrange.service.parties import REDIS, Party, parties

__all__ = ["Process", "processes"]

# One thread for each process that computes: the parties share the cores, and OpenMP collapses when it waits.
SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PASSED_ON = (
    "LEAKRANGE_ALLOWED_HOSTS",
    "LEAKRANGE_CACHE",
    "LEAKRANGE_LOG_LEVEL",
    "LEAKRANGE_PROXY_WORKERS",
    "LEAKRANGE_WITHDRAW_AFTER",
    "LEAKRANGE_TRY_SAMPLES",
    "LEAKRANGE_WORKERS",
)


@dataclass(frozen=True)
class Process:
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
        """The name of the worker that runs as process ``pid``."""
        return f"{self.queues.replace(',', '-')}-{pid}@{socket.gethostname()}"


def processes(folder: StateFolder, ports: Mapping[str, int], *, workers: int) -> list[Process]:
    """All processes, the Redis-protocol server first. ``workers`` is the number of attackers besides the
    trainer."""
    inherited, declared = _inherited(), parties(behaviours())
    told = _told_to_all(folder, ports, declared)

    def process(party: Party, name: str) -> Process:
        own = {"state_dir": str(folder.of_party(name))}
        if party.redis is not None:
            own["redis_url"] = redis_url(folder, ports[REDIS], party.redis)
        if party.behaviour is not None:
            own["provider_name"] = party.behaviour
        if not party.queues:
            own["port"] = str(ports[name])
        known = told | own
        environment = {f"LEAKRANGE_{setting.upper()}": known[setting] for setting in party.settings}
        computing = SINGLE_THREAD | (dict(ALLOCATOR) if party.nets else {})
        command: tuple[str, ...] = (sys.executable, "-m", party.module)
        queues = ",".join(party.queues)
        if queues:
            # Trainings compute, so there is one a core; a job that probes waits for answers most of the time.
            jobs = os.cpu_count() or 1 if "train" in party.queues else 2
            command = (*command, "--queues", queues, "--concurrency", str(jobs))
        answers: Literal["http", "celery"] = "celery" if queues else "http"
        return Process(name, command, inherited | computing | environment, ports.get(name), answers, queues)

    started = [Process(REDIS, redis_command(folder, ports[REDIS]), inherited, ports[REDIS], "redis")]
    for party in declared:
        if party.name == "attacker":
            started += [process(party, f"attacker-{number}") for number in range(1, workers + 1)]
        else:
            started.append(process(party, party.name))
    return started


def _told_to_all(
    folder: StateFolder, ports: Mapping[str, int], declared: tuple[Party, ...]
) -> dict[str, str]:
    """The values of settings that are the same for every party."""
    urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    providers = {party.behaviour: urls[party.name] for party in declared if party.behaviour is not None}
    return {
        "host": "127.0.0.1",
        "operator_key": folder.secret("operator"),
        "fleet_secret": folder.secret("fleet"),
        "database_url": f"sqlite+aiosqlite:///{folder.database}",
        "models_dir": str(folder.models),
        "releases_dir": str(folder.releases),
        "providers": orjson.dumps(providers).decode(),
        "controller_url": urls["controller"],
        "proxy_url": urls["proxy"],
        "proxy_public_url": urls["proxy"],
        "edge_url": urls["edge"],
    }


def _inherited() -> dict[str, str]:
    """Our own environment; of its LEAKRANGE_ variables only those that every party may have."""
    passed = {name: value for name, value in os.environ.items() if not name.startswith("LEAKRANGE_")}
    for name in PASSED_ON:
        if value := os.environ.get(name):
            passed[name] = value
    # The parties of a range talk to each other directly, whatever proxy leads out of this machine.
    for name in ("NO_PROXY", "no_proxy"):
        passed[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1", "localhost")))
    for name in ("LEAKRANGE_DATA", "LEAKRANGE_TRACES"):
        if folder := os.environ.get(name):
            passed[name] = str(Path(folder).absolute())  # parties work in folders of their own
    return passed
