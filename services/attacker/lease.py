"""Leases: which worker is at a job now. A lease that is not renewed is gone after seconds, and with it the
claim.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from types import TracebackType

import redis
import structlog
from redis.exceptions import RedisError

from leakrange.wire.jobs import CANCEL, LEASE

__all__ = ["Lease"]

log = structlog.get_logger("services.attacker.lease")
TTL_MS = 5000
BEAT = 1.5

# Renew and release only what is ours: another worker may have taken over after a long pause of this one.
_RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end"
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end"


class Lease:
    """``with Lease(...) as held:`` — ``held`` is False where another worker is at the job.

    While held, a thread renews it every 1.5 s and looks whether the job was cancelled; then it calls
    ``on_cancel`` once.
    """

    def __init__(
        self, client: redis.Redis, identity: str, on_cancel: Callable[[], None] | None = None
    ) -> None:
        self._redis, self._identity, self._on_cancel = client, identity, on_cancel
        self._key = LEASE.format(identity=identity)
        self._token = secrets.token_hex(16)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> bool:
        if not self._redis.set(self._key, self._token, nx=True, px=TTL_MS):
            return False
        self._thread = threading.Thread(target=self._beat, name=f"lease {self._identity[:12]}", daemon=True)
        self._thread.start()
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        self._over.set()
        self._thread.join()
        try:
            self._redis.eval(_RELEASE, 1, self._key, self._token)
        except RedisError as lost:
            log.warning("lease not released: it runs out by itself", identity=self._identity, error=str(lost))

    def _beat(self) -> None:
        cancelled = False
        while not self._over.wait(BEAT):
            try:
                self._redis.eval(_RENEW, 1, self._key, self._token, TTL_MS)
                if not cancelled and self._redis.exists(CANCEL.format(identity=self._identity)):
                    cancelled = True
                    if self._on_cancel is not None:
                        self._on_cancel()
            except RedisError as error:
                log.warning("lease not renewed", identity=self._identity, error=str(error))
