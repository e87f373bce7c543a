"""Whether a party does what it is there for, seen from outside."""

from __future__ import annotations

import httpx

from clients.cli.embedded.parties import Party

__all__ = ["is_ready"]


def is_ready(party: Party, pid: int, redis_url: str) -> bool:
    """Ask once, for a second at most."""
    if party.answers == "http":
        return _http(party.port)
    return _redis(redis_url) if party.answers == "redis" else _worker(party.node(pid), redis_url)


def _http(port: int | None) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=1.0).status_code == 200
    except httpx.TransportError:
        return False


# Redis and Celery take longer to import than most commands take to answer: only the launcher needs them.


def _redis(url: str) -> bool:
    import redis

    try:
        with redis.Redis.from_url(url, socket_timeout=1.0) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _worker(node: str, redis_url: str) -> bool:
    from celery import Celery
    from kombu.exceptions import OperationalError

    try:
        with Celery(broker=redis_url, set_as_current=False) as asking:
            answers = asking.control.broadcast("ping", reply=True, destination=[node], limit=1, timeout=1.0)
    except (OperationalError, OSError):
        return False
    return any(node in answer for answer in answers)
