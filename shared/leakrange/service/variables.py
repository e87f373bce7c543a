"""The known variables ``LEAKRANGE_…``, so that one that nobody reads is reported, not ignored."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from leakrange.service.parties import settings

__all__ = ["LIBRARY", "mistaken", "variable"]

LIBRARY = ("cache", "data", "migrations")
"""Variables that the library itself reads, in any party."""
_ALIASES = ("proxy_host", "proxy_port")
_COMMAND = ("api_key", "provider_passwords", "state", "url")
"""Variables that commands read: ``leakrange``, and what migrates the database."""
_COMPOSE = (
    "controller_port",
    "flower_port",
    "gpus",
    "grafana_port",
    "jaeger_port",
    "load_port",
    "load_scenario",
    "load_workers",
    "prometheus_port",
    "trainers",
)
"""Variables that docker-compose.yml reads, and passes to parties under other names."""
_TOOLS = ("federation_python", "key", "mlserver_python", "model", "peers_python", "release")
"""Variables that tests, benchmarks and load tests read."""


def variable(setting: str) -> str:
    """The variable of a setting."""
    return f"LEAKRANGE_{setting.upper()}"


def mistaken(names: Iterable[str]) -> list[str]:
    """Return a sentence for each of the ``names`` of variables that has our prefix but is read by nothing of
    Leakrange, with the nearest known name."""
    known = {variable(each) for each in {*settings(), *LIBRARY, *_ALIASES, *_COMMAND, *_COMPOSE, *_TOOLS}}
    sentences = []
    for name in sorted(names):
        if not name.upper().startswith("LEAKRANGE_") or name.upper() in known:
            continue
        near = difflib.get_close_matches(name.upper(), sorted(known), n=1, cutoff=0.0)
        sentences.append(f"{name} is set, and nothing reads it: is {near[0]} meant?")
    return sentences
