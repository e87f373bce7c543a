"""Questions that load users ask in place of the fleet: offered until their answers are handed in."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.scenario.load import LoadSpec, Role, UserKind
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.releases import ReleaseKind

HELD_FOR = 20.0
"""Seconds after which a chunk without answers is offered again: the user who took it may have died. If not,
the chunk is asked twice, and paid once."""


class AskingFailed(LeakrangeError):
    """Load users were refused what they asked for, and asking again would not help."""

    slug, title = "asking-failed", "Load users got no answer"


class LimitReached(LeakrangeError):
    """The proxy's limit named ``limit`` refuses a key for good."""

    slug, title = "limit-reached", "A limit refuses further answers"

    def __init__(self, limit: str, reason: str) -> None:
        super().__init__(reason)
        self.limit = limit


@dataclass(frozen=True)
class Chunk:
    """Questions of one probe, with the key to ask them with, the ``defence`` under which they are answered,
    and the ``role`` of those who ask them."""

    identity: str
    job: ProbeJob
    key: str
    defence: str
    role: Role


@dataclass(frozen=True)
class Visit:
    """The needs of an honest user: the address of a model, the key for it, and the samples of its users."""

    url: str
    key: str
    model: str
    release: ReleaseKind
    defence: str
    data: DataSpec
    plain: bool
    """Whether the decision on outputs is the class of their greatest value."""
    endpoint: str | None = None
    """Where users ask with their samples; None where they run the model by themselves."""


@dataclass(eq=False)
class _Offered:
    chunk: Chunk
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __lt__(self, other: _Offered) -> bool:
        """Whether it is asked first. A limit that refuses for good must not leave gaps before its refusal:
        a budget is judged only where all its answers came."""
        return self.chunk.job.span.start < other.chunk.job.span.start


class Offers:
    """The chunks of one run that wait for load users, or that they have taken. Nothing here is stored: a
    restarted controller offers chunks without answers again."""

    def __init__(self, load: LoadSpec | None) -> None:
        self.load = load
        self.visits: list[Visit] = []
        self._offered: dict[str, _Offered] = {}
        self._queues: dict[tuple[Role, str], list[_Offered]] = {}  # heaps
        self._taken: dict[str, float] = {}  # when, the earliest first
        self._open: set[str] = set()
        self._begun = False

    def expect(self, probes: Iterable[str]) -> None:
        """Say which probes the run still has to ask."""
        self._open, self._begun = set(probes), True

    def ended(self, probe: str) -> None:
        """Say that nothing more is asked for a probe."""
        self._open.discard(probe)

    @property
    def over(self) -> bool:
        """Whether every probe has come to its end."""
        return self._begun and not self._open

    @property
    def waiting(self) -> int:
        """The number of chunks that nobody has taken."""
        return len(self._offered) - len(self._taken)

    async def answered(self, chunk: Chunk) -> None:
        """Offer a chunk, and wait until its answers are stored. Raises `AskingFailed`, or `LimitReached`."""
        offered = self._offered[chunk.identity] = _Offered(chunk)
        self._enqueue(offered)
        try:
            await offered.done
        finally:
            del self._offered[chunk.identity]
            self._taken.pop(chunk.identity, None)

    def take(self, kind: UserKind, most: int) -> list[Chunk]:
        """Up to ``most`` chunks for users of a kind, from all defences in turn. After a while without
        answers they are offered again."""
        self._give_back()
        taken: list[Chunk] = []
        while len(taken) < most and (queue := self._next(kind)) is not None:
            chunk = heapq.heappop(queue).chunk
            self._taken[chunk.identity] = time.monotonic()
            taken.append(chunk)
        return taken

    def wanted(self, identity: str) -> Chunk | None:
        """The chunk of that identity that waits for its answers; None where no such chunk does."""
        offered = self._offered.get(identity)
        return None if offered is None else offered.chunk

    def stored(self, identity: str) -> None:
        """Say that the answers to a chunk are stored."""
        offered = self._offered.get(identity)
        if offered is not None and not offered.done.done():
            offered.done.set_result(None)

    def refused(self, identity: str, reason: str, limit: str | None = None) -> None:
        """Say why a chunk gets no answers; trials that need it fail. If a ``limit`` refuses for good, chunks
        that nobody has taken yet are no longer asked with that key."""
        offered = self._offered.get(identity)
        if offered is None:
            return
        if limit is None:
            _end(offered, AskingFailed(reason))
            return
        _end(offered, LimitReached(limit, reason))
        for other in self._offered.values():
            if other.chunk.key == offered.chunk.key and other.chunk.identity not in self._taken:
                _end(other, LimitReached(limit, reason))

    def _enqueue(self, offered: _Offered) -> None:
        chunk = offered.chunk
        heapq.heappush(self._queues.setdefault((chunk.role, chunk.defence), []), offered)

    def _next(self, kind: UserKind) -> list[_Offered] | None:
        """The queue that has waited longest among those that such users ask from."""
        assert self.load is not None
        for place, queue in list(self._queues.items()):
            while queue and queue[0].done.done():
                heapq.heappop(queue)
            if queue and kind in self.load.takers(place[0]):
                self._queues[place] = self._queues.pop(place)  # behind all others
                return queue
        return None

    def _give_back(self) -> None:
        late = time.monotonic() - HELD_FOR
        for identity, since in list(self._taken.items()):
            if since >= late:
                return
            del self._taken[identity]
            self._enqueue(self._offered[identity])


def _end(offered: _Offered, error: LeakrangeError) -> None:
    if not offered.done.done():
        offered.done.set_exception(error)
