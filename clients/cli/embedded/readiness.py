"""Whether a party does what it is there for, seen from outside."""

from __future__ import annotations

import httpx
import redis

from clients.cli.embedded.parties import Party
from clients.cli.embedded.state import StateFolder

__all__ = ["is_ready"]

READY_LINE = " ready."
"""Celery says so in its log once a worker takes tasks."""


def is_ready(party: Party, folder: StateFolder) -> bool:
    """Ask once, for a second at most."""
    if party.answers == "http":
        try:
            return httpx.get(f"http://127.0.0.1:{party.port}/readyz", timeout=1.0).status_code == 200
        except httpx.TransportError:
            return False
    if party.answers == "redis":
        try:
            with redis.Redis(
                port=party.port or 0, password=folder.secret("redis"), socket_timeout=1.0
            ) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
    try:
        return READY_LINE in folder.log(party.name).read_text(errors="replace")
    except FileNotFoundError:
        return False
