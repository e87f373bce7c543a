"""Checks from outside whether a party is ready."""

from __future__ import annotations

from typing import Any

import httpx

from leakrange.clients.cli.embedded.parties import Process

__all__ = ["Readiness"]


class Readiness:
    """Asks the parties of a range, whose workers have one broker."""

    def __init__(self) -> None:
        self._fleet: Any = None
        # No proxy of the environment stands between this process and its own machine.
        self._http = httpx.Client(timeout=1.0, trust_env=False)

    def __call__(self, party: Process, pid: int) -> bool:
        """Ask the party that runs as process ``pid`` once, for a second at most."""
        if party.answers == "http":
            return self._server(party.url)
        return self._redis(party.url) if party.answers == "redis" else self._worker(party, pid)

    def _server(self, url: str) -> bool:
        try:
            return self._http.get(url).status_code == 200
        except httpx.TransportError:
            return False

    # Redis and Celery take longer to import than most commands take to answer: only the launcher needs them.

    def _redis(self, url: str) -> bool:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        try:
            with redis.Redis.from_url(url, socket_timeout=1.0, retry=Retry(NoBackoff(), 0)) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _worker(self, party: Process, pid: int) -> bool:
        import redis
        from celery import Celery
        from kombu.exceptions import OperationalError

        node = party.node(pid)
        if self._fleet is None:
            self._fleet = Celery(broker=party.url, set_as_current=False)
        try:
            answers = self._fleet.control.broadcast(
                "ping", reply=True, destination=[node], limit=1, timeout=1.0
            )
        except (redis.RedisError, OperationalError, OSError):
            # Its connections may be dead ones: the broker itself is restarted, too.
            self._fleet.close()
            self._fleet = None
            return False
        return any(node in answer for answer in answers)
