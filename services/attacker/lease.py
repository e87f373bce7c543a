"""Leases of jobs in Redis: only the holder can extend or release one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context

import redis
import structlog
from redis.exceptions import LockError
from redis.lock import Lock

from leakrange.jobs.orders import CANCEL, LEASE

BEAT = 0.3
"""The share of a lease after which its holder extends it: two beats may be lost before the lease is."""

log = structlog.get_logger("leakrange.attacker.lease")


@contextmanager
def leased(
    client: redis.Redis, identity: str, seconds: float, cancelled: Callable[[], None]
) -> Iterator[bool]:
    """Hold the job's lease while the block runs; gives False if somebody else holds it.

    A thread extends the lease: it runs out ``seconds`` after the process has died. The thread calls
    ``cancelled`` once if the controller cancels the job.
    """
    lease = client.lock(LEASE.format(identity=identity), timeout=seconds, thread_local=False)
    if not lease.acquire(blocking=False):
        yield False
        return
    stop = threading.Event()

    def beat() -> None:
        cancel_seen = False
        while not stop.wait(BEAT * seconds):
            try:
                if not _kept(lease):
                    # Another worker has begun, because this one was silent for too long. Both finish: their
                    # results are the same, and only one of them spends.
                    log.warning("lease lost")
                    return
                if not cancel_seen and client.exists(CANCEL.format(identity=identity)):
                    cancel_seen = True
                    cancelled()
            except redis.RedisError as error:
                log.warning("heartbeat failed", error=str(error))

    logged = copy_context()  # the thread's log lines carry the same context as ours
    thread = threading.Thread(target=logged.run, args=(beat,), name=f"lease-{identity[:8]}", daemon=True)
    thread.start()
    try:
        yield True
    finally:
        stop.set()
        thread.join()
        with suppress(LockError):  # lost, see above
            lease.release()


def _kept(lease: Lock) -> bool:
    """Extend the lease; False where another worker has it."""
    try:
        return bool(lease.reacquire())
    except LockError:  # it ran out
        return bool(lease.acquire(blocking=False))
