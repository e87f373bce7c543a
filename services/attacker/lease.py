"""Who works on a job: a lease in Redis that only its holder can extend or release, and a register of jobs
in progress.

A registered job without a lease has lost its worker, or its pause before a new attempt is over. Some
worker's `sweep` sends it again.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson
import redis
import structlog

from leakrange.jobs.job import CANCEL, LEASE, ORDER

__all__ = ["Lease", "Leases", "Message"]

LEASE_SECONDS = 5.0
BEAT = 0.3
"""The share of a lease after which its holder says that it lives: two beats may be lost before it is."""
CLAIM = 0.6
"""The share of a lease for which one worker has to send an orphaned job again before another does."""
MEMORY_SECONDS = 3600
"""How long it is remembered that a message is settled, and how often a job was begun."""

UNDER_WAY = "leakrange:under-way"
SETTLED = "leakrange:settled:{message}"
STARTS = "leakrange:starts:{identity}"
CLAIMED = "leakrange:claim:{identity}"

log = structlog.get_logger("leakrange.attacker.lease")

# An entry of the register is the holder's token, a blank, and the message as JSON.
_OURS = """
local function ours(entry) return entry and string.sub(entry, 1, #ARGV[1]) == ARGV[1] end
"""
_TAKE = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('HSET', KEYS[3], ARGV[4], ARGV[5])
local starts = redis.call('INCR', KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return starts
"""
_KEEP = """
local held = redis.call('GET', KEYS[1])
if not held or held == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {held and held ~= ARGV[1] and 1 or 0, redis.call('EXISTS', KEYS[2])}
"""
_PAUSE = """
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('HSET', KEYS[3], ARGV[3], ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
"""
_END = (
    _OURS
    + """
redis.call('SET', KEYS[4], '1', 'EX', ARGV[2])
redis.call('DEL', KEYS[2])
if ours(redis.call('HGET', KEYS[3], ARGV[3])) then redis.call('HDEL', KEYS[3], ARGV[3]) end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""
)
_ORPHANS = """
local found = {}
for _, identity in ipairs(redis.call('HKEYS', KEYS[1])) do
  local lease = string.gsub(ARGV[1], '{identity}', identity)
  local claim = string.gsub(ARGV[2], '{identity}', identity)
  if redis.call('EXISTS', lease) == 0 and redis.call('SET', claim, '1', 'NX', 'PX', ARGV[3]) then
    found[#found + 1] = identity
    found[#found + 1] = redis.call('HGET', KEYS[1], identity)
  end
end
return found
"""
_SENT = """
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('DEL', KEYS[2])
"""


@dataclass(frozen=True)
class Message:
    """A job as it was sent: ``id`` is the Celery task's, kept when it is sent again; ``attempt`` counts tries
    after failures that may pass, ``until`` (Unix time) is by when what an earlier one has left in flight is
    over, if it has."""

    id: str
    task: str
    queue: str
    payload: dict[str, Any]
    attempt: int = 0
    until: float | None = None


class Leases:
    """All leases, in one Redis: a worker that is silent for ``seconds`` loses its own."""

    def __init__(self, client: redis.Redis, seconds: float = LEASE_SECONDS) -> None:
        self._client, self.seconds = client, seconds
        self._take, self._keep, self._pause, self._end, self._orphans, self._sent = map(
            client.register_script, (_TAKE, _KEEP, _PAUSE, _END, _ORPHANS, _SENT)
        )

    def cancelled(self, identity: str) -> bool:
        """Whether the controller has cancelled the job."""
        return bool(self._client.exists(CANCEL.format(identity=identity)))

    def newest(self, identity: str, message: Message) -> Message:
        """``message`` with the job as the controller sent it last, if that is known."""
        order = self._client.get(ORDER.format(identity=identity))
        return message if order is None else replace(message, payload=orjson.loads(order))

    def settled(self, message: str) -> bool:
        """Whether the message of that id led to the job's end, reported, within the last hour."""
        return bool(self._client.exists(SETTLED.format(message=message)))

    def take(self, identity: str, message: Message) -> Lease | None:
        """The lease, and the job registered under it; None where somebody holds it."""
        lease = Lease(self, identity, message)
        return lease if lease.take() else None

    def orphans(self) -> list[tuple[str, bytes, Message]]:
        """Jobs under way without a lease, for the caller to send again and then `sent`: identity, entry,
        message."""
        flat = cast(
            list[bytes],
            self._orphans(keys=[UNDER_WAY], args=[LEASE, CLAIMED, _ms(CLAIM * self.seconds)]),
        )
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return [
            (identity.decode(), entry, Message(**orjson.loads(entry.partition(b" ")[2])))
            for identity, entry in pairs
        ]

    def sent(self, identity: str, entry: bytes) -> None:
        """An orphan was sent again: forget its entry, unless somebody has taken the job already."""
        self._sent(keys=[UNDER_WAY, CLAIMED.format(identity=identity)], args=[identity, entry])


class Lease:
    """A lease that is held. ``starts`` counts how often the job was begun since it last came to an end or a
    pause: more than once, and workers died of it.
    """

    def __init__(self, leases: Leases, identity: str, message: Message) -> None:
        self._leases, self._identity, self._message = leases, identity, message
        self._token = secrets.token_hex(16)
        self._keys = [LEASE.format(identity=identity), STARTS.format(identity=identity), UNDER_WAY]
        self.starts = 0

    def take(self) -> bool:
        """Take the lease; False where somebody else holds it."""
        entry = self._entry(self._message)
        args: list[Any] = [self._token, _ms(self._leases.seconds), MEMORY_SECONDS, self._identity, entry]
        self.starts = cast(int, self._leases._take(keys=self._keys, args=args))
        return self.starts > 0

    @contextmanager
    def beating(self, cancelled: Callable[[], None]) -> Iterator[None]:
        """Keep the lease from a thread while the block runs; call ``cancelled`` (there) once if the
        controller cancels the job.
        """
        stop = threading.Event()

        def beat() -> None:
            told = False
            while not stop.wait(BEAT * self._leases.seconds):
                try:
                    lost, cancel = self._keep()
                except redis.RedisError as error:
                    log.warning("heartbeat failed", identity=self._identity, error=str(error))
                    continue
                if lost:
                    # Another worker has begun, because this one was silent for too long. Both finish: their
                    # results are the same, and only one of them spends.
                    log.warning("lease lost", identity=self._identity)
                    return
                if cancel and not told:
                    told = True
                    cancelled()

        thread = threading.Thread(target=beat, name=f"lease-{self._identity[:8]}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _keep(self) -> tuple[bool, bool]:
        keys = [self._keys[0], CANCEL.format(identity=self._identity)]
        args: list[Any] = [self._token, _ms(self._leases.seconds)]
        lost, cancel = cast(list[int], self._leases._keep(keys=keys, args=args))
        return bool(lost), bool(cancel)

    def pause(self, seconds: float, again: Message) -> None:
        """Have the job sent again after so long, as ``again``; until then nobody may begin it."""
        args: list[Any] = [self._token, _ms(seconds), self._identity, self._entry(again)]
        self._leases._pause(keys=self._keys, args=args)

    def end(self) -> None:
        """Give the lease up: the job was brought to an end and reported."""
        keys = [*self._keys, SETTLED.format(message=self._message.id)]
        self._leases._end(keys=keys, args=[self._token, MEMORY_SECONDS, self._identity])

    def _entry(self, message: Message) -> bytes:
        return self._token.encode() + b" " + orjson.dumps(message)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
