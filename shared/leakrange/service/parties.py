"""The parties of a range, declared once: the program of each, its settings, and its port.

The embedded launcher starts them from this declaration. Tests compare `docker-compose.yml`, the images,
the import contracts and the tables of the documentation with it. There is a provider for each registered
behaviour, including those of plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import Literal

__all__ = [
    "FLEET_REDIS",
    "REDIS",
    "REMOTE",
    "SERVERS",
    "Party",
    "RedisUser",
    "listening",
    "parties",
    "settings",
]

RedisUser = Literal["operator", "proxy", "controller", "fleet"]
"""The users of Redis (`redis_users.conf`, `fleet_redis_users.conf`). No party acts as the operator."""

REDIS, FLEET_REDIS = "redis", "fleet-redis"
"""The parties that are not ours: servers that speak Redis' protocol. The first holds the proxy's ledger, the
second brings the fleet its work. They are two, so that nothing that a worker does holds up the ledger."""
SERVERS: Mapping[str, tuple[RedisUser, ...]] = MappingProxyType(
    {REDIS: ("operator", "proxy"), FLEET_REDIS: ("operator", "controller", "fleet")}
)
"""The users of each of these servers."""
_PORTS = {"controller": 0, "proxy": 1, "edge": 4, REDIS: 5, FLEET_REDIS: 7}
"""Counted from the first port of the range. Providers take the free ones, so that one more moves no other."""
_FIRST = ("honest", "curious", "vicious")
"""The behaviours that came with the range, in order of appearance; those of plugins come after them."""


@dataclass(frozen=True)
class Party:
    """One party of a range: a program and its settings.

    ``module`` is run with ``python -m``. ``settings`` are the names of those that whoever puts the range
    together decides, as the launcher does: addresses, folders, secrets. ``choices`` are all others, which
    pass as they are set. A party with ``queues`` takes jobs from them; all others listen on a port. ``redis``
    is its Redis user, ``nets`` says whether it runs nets, ``behaviour`` is what a provider plays.
    """

    name: str
    module: str
    settings: tuple[str, ...]
    choices: tuple[str, ...]
    redis: RedisUser | None = None
    queues: tuple[str, ...] = ()
    nets: bool = False
    behaviour: str | None = None

    @property
    def image(self) -> str:
        """The container image of the party, and the extra that installs its dependencies."""
        return self.module.rpartition(".")[2]

    @property
    def server(self) -> str | None:
        """The Redis server that it uses."""
        return next((name for name, users in SERVERS.items() if self.redis in users), None)


_SERVER = ("host", "port", "operator_key")
_SERVES = (
    "allowed_hosts",
    "body_timeout",
    "client_connections",
    "client_unfinished",
    "derivation_key",
    "header_timeout",
    "log_level",
    "max_body",
    "max_connections",
    "metrics_key",
    "traces",
)
_WORKS = (
    "broker_url",
    "lease_seconds",
    "log_level",
    "metrics_key",
    "metrics_port",
    "request_timeout",
    "retries",
    "retry_pause",
    "task_events",
    "traces",
    "train_device",
    "train_threads",
)
_PROVIDER = Party(
    "provider",
    "leakrange.services.provider",
    (*_SERVER, "provider_name", "models_dir", "state_dir", "state_url"),
    (
        *_SERVES,
        "batch",
        "gallery_images",
        "gallery_persons",
        "kept_vectors",
        "max_batch",
        "max_upload",
        "queue",
        "replica_lease",
        "threads",
        "workers",
    ),
    nets=True,
)
_PARTIES = (
    Party(
        "proxy",
        "leakrange.services.proxy",
        (*_SERVER, "redis_url", "controller_url"),
        (
            *_SERVES,
            "idempotency_max_body",
            "idempotency_seconds",
            "lease_seconds",
            "max_answer",
            "max_samples",
            "proxy_workers",
            "redis_replicas",
            "redis_timeout",
            "reservation_seconds",
            "upstream_connections",
            "upstream_timeout",
            "workers",
        ),
        redis="proxy",
    ),
    Party(
        "edge",
        "leakrange.clients.edge",
        _SERVER,
        (*_SERVES, "attempts", "audit", "batch", "enrolled", "max_batch", "obfuscator_bytes", "threads"),
        nets=True,
    ),
    Party(
        "controller",
        "leakrange.services.controller",
        (
            *_SERVER,
            "redis_url",
            "fleet_secret",
            "database_url",
            "models_dir",
            "releases_dir",
            "providers",
            "proxy_url",
            "proxy_public_url",
            "edge_url",
        ),
        (
            *_SERVES,
            "attempts",
            "broker_url",
            "migrate",
            "probes_at_once",
            "reading_memory",
            "sessions_at_once",
            "try_samples",
            "viewer_key",
            "withdraw_after",
        ),
        redis="controller",
    ),
    Party(
        "attacker",
        "leakrange.services.attacker",
        ("host", "redis_url", "fleet_secret", "releases_dir"),
        _WORKS,
        redis="fleet",
        queues=("probe", "fit", "audit"),
        nets=True,
    ),
    Party(
        "trainer",
        "leakrange.services.attacker",
        ("host", "redis_url", "models_dir", "releases_dir"),
        _WORKS,
        redis="fleet",
        queues=("train",),
        nets=True,
    ),
)


REMOTE = "remote"
"""The behaviour of those whose models other people serve: no party of the range plays it."""


def parties(behaviours: Iterable[str]) -> tuple[Party, ...]:
    """The parties of a range whose providers can play ``behaviours``, by their registered names.

    One provider plays all behaviours that share the word before the slash: ``curious/convex`` is played by
    ``provider-curious``.
    """
    played = {behaviour.partition("/")[0] for behaviour in behaviours} - {REMOTE}
    ordered = [*(name for name in _FIRST if name in played), *sorted(played.difference(_FIRST))]
    providers = (replace(_PROVIDER, name=f"provider-{name}", behaviour=name) for name in ordered)
    return (*providers, *_PARTIES)


def settings() -> frozenset[str]:
    """The names of all settings of all parties."""
    return frozenset(
        setting for party in (_PROVIDER, *_PARTIES) for setting in (*party.settings, *party.choices)
    )


def listening(behaviours: Iterable[str]) -> tuple[str, ...]:
    """The names of all parties that listen, Redis servers among them, in the order of their ports."""
    servers = [party for party in parties(behaviours) if not party.queues]
    free = (port for port in count() if port not in _PORTS.values())
    ports = _PORTS | {party.name: next(free) for party in servers if party.behaviour is not None}
    return tuple(sorted(ports, key=ports.__getitem__))
