"""Whether a party is ready, as seen from outside."""

from __future__ import annotations

from functools import cached_property

import httpx

from clients.cli.embedded.parties import Process

__all__ = ["Readiness"]


class Readiness:
    """Asks the parties of a range whose Redis-protocol server is at ``redis_url``."""

    def __init__(self, redis_url: str) -> None:
        self._redis_url = redis_url
        # No proxy of the environment stands between this process and its own machine.
        self._http = httpx.Client(timeout=1.0, trust_env=False)

    def __call__(self, party: Process, pid: int) -> bool:
        """Ask the party that runs as process ``pid`` once, for a second at most."""
        if party.answers == "http":
            return self._server(party.port)
        return self._redis() if party.answers == "redis" else self._worker(party.node(pid))

    def _server(self, port: int | None) -> bool:
        try:
            return self._http.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    # Redis and Celery take longer to import than most commands take to answer: only the launcher needs them.

    def _redis(self) -> bool:
        import redis

        try:
            with redis.Redis.from_url(self._redis_url, socket_timeout=1.0) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _worker(self, node: str) -> bool:
        import redis
        from kombu.exceptions import OperationalError

        try:
            answers = self._fleet.control.broadcast(
                "ping", reply=True, destination=[node], limit=1, timeout=1.0
            )
        except (redis.RedisError, OperationalError, OSError):
            # Its connections may be dead ones: Redis itself is restarted, too.
            self._fleet.close()
            del self._fleet
            return False
        return any(node in answer for answer in answers)

    @cached_property
    def _fleet(self):  # type: ignore[no-untyped-def]  # Celery has no types
        from celery import Celery

        return Celery(broker=self._redis_url, set_as_current=False)
