"""The processes of an embedded range. Each is started with the settings that it needs, and no others.

`leakrange.service.parties` declares these: attackers get neither the operator key nor the database, and each
party reaches only its own keys in Redis. What a party leaves to choice passes from our own environment.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal

import orjson

from leakrange.allocator import ALLOCATOR
from leakrange.clients.cli.embedded.redis_server import redis_command, redis_url
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.scenario.registered import behaviours
from leakrange.service.parties import FLEET_REDIS, SERVERS, Party, parties
from leakrange.service.variables import LIBRARY, mistaken, variable

__all__ = ["Process", "check_variables", "computing", "processes"]

METRICS_PORT = variable("metrics_port")
# One thread for each process that computes: the parties share the cores, and OpenMP collapses when it waits.
SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
FOLDERS = tuple(map(variable, ("cache", "data", "traces")))
"""Variables that name folders. Parties work in folders of their own, so these pass as absolute paths."""


@dataclass(frozen=True)
class Process:
    """A process to run. ``answers`` is how its readiness is checked at ``url``: over HTTP, by Redis' own
    protocol, or through the broker by the worker's name."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    port: int | None
    answers: Literal["http", "redis", "celery"]
    url: str = field(repr=False)
    queues: str = ""
    nets: bool = False
    """Whether it runs nets."""

    def node(self, pid: int) -> str:
        """The name of the worker that runs as process ``pid``."""
        return f"{self.queues.replace(',', '-')}-{pid}@{socket.gethostname()}"


def check_variables() -> list[str]:
    """Return the set variables that an embedded range decides for itself.

    Raises `CliError` for one of ours that nothing reads and that would be ignored.
    """
    if mistakes := mistaken(os.environ):
        raise CliError(
            "the range is not started with variables that nobody reads",
            lines=tuple(mistakes),
            code=Exit.USAGE,
            hint="correct or unset them; docs/configuration.md lists those that there are",
        )
    decided = {variable(setting) for party in parties(behaviours()) for setting in party.settings}
    return sorted(name for name in os.environ if name.upper() in decided)


def processes(folder: StateFolder, ports: Mapping[str, int], *, workers: int) -> list[Process]:
    """All processes, the Redis-protocol servers first. ``workers`` is the number of attackers besides the
    trainer."""
    inherited, declared = _inherited(), parties(behaviours())
    numbers = count()

    def as_operator(server: str) -> str:
        return redis_url(folder, ports[server], "operator")

    broker = os.environ.get(variable("broker_url")) or as_operator(FLEET_REDIS)
    shared = _shared_settings(folder, ports, declared)

    def process(party: Party, name: str) -> Process:
        settings = {"state_dir": str(folder.of_party(name)), "state_url": ""}
        if party.redis is not None and party.server is not None:
            settings["redis_url"] = redis_url(folder, ports[party.server], party.redis)
        if party.behaviour is not None:
            settings["provider_name"] = party.behaviour
        if not party.queues:
            settings["port"] = str(ports[name])
        known = shared | settings
        environment = {variable(setting): known[setting] for setting in party.settings}
        environment |= _set(*party.choices, *LIBRARY)
        if first := environment.get(METRICS_PORT):
            environment[METRICS_PORT] = _counted(first, next(numbers))
        command: tuple[str, ...] = (sys.executable, "-m", party.module)
        queues = ",".join(party.queues)
        if queues:
            # Trainings compute, so there is one a core; a job that probes waits for answers most of the time.
            jobs = os.cpu_count() or 1 if "train" in party.queues else 2
            command = (*command, "--queues", queues, "--concurrency", str(jobs))
        environment = (computing() if party.nets else inherited | SINGLE_THREAD) | environment
        if queues:
            return Process(name, command, environment, None, "celery", broker, queues, nets=party.nets)
        ready = f"http://127.0.0.1:{ports[name]}/readyz"
        return Process(name, command, environment, ports[name], "http", ready, nets=party.nets)

    started = [
        Process(
            name, redis_command(folder, name, ports[name]), inherited, ports[name], "redis", as_operator(name)
        )
        for name in SERVERS
    ]
    for party in declared:
        if party.name == "attacker":
            started += [process(party, f"attacker-{number}") for number in range(1, workers + 1)]
        else:
            started.append(process(party, party.name))
    return started


def computing() -> dict[str, str]:
    """The environment of a process that runs nets, without the settings of any party."""
    return _inherited() | SINGLE_THREAD | dict(ALLOCATOR)


def _shared_settings(
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
    """Our own environment without LEAKRANGE_ variables, of which each party gets its own."""
    passed = {name: value for name, value in os.environ.items() if not _ours(name)}
    # The parties of a range talk to each other directly, whatever proxy leads out of this machine.
    for name in ("NO_PROXY", "no_proxy"):
        passed[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1", "localhost")))
    return passed


def _set(*settings: str) -> dict[str, str]:
    """The variables of these settings that are set in our own environment, under whichever case."""
    names = {variable(setting) for setting in settings}
    passed = {name.upper(): value for name, value in os.environ.items() if name.upper() in names}
    return {
        name: str(Path(value).absolute()) if name in FOLDERS and value else value
        for name, value in passed.items()
    }


def _ours(name: str) -> bool:
    return name.upper().startswith("LEAKRANGE_")


def _counted(first: str, number: int) -> str:
    """Return the port of the next worker: several on one machine cannot share one."""
    return str(int(first) + number) if first.isdecimal() else first
