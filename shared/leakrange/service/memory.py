"""Returns the memory of large bodies, which the allocator keeps, to the system."""

from __future__ import annotations

import asyncio
import ctypes
from typing import Final

__all__ = ["give_back_memory"]

QUIET: Final = 0.3
"""Seconds without a large body after which their memory is returned."""
LATEST: Final = 5.0
"""Seconds after which it is returned although they still come."""


class _Return:
    """Returns memory when a burst of large bodies is over.

    Not after each of them: what is returned has to be mapped and cleared again page by page for the next
    one, activations of nets as well, and that took more time than half a pass of 32 pictures through a
    small net.
    """

    def __init__(self) -> None:
        self._last = self._first = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop in which a return is due."""

    def soon(self) -> None:
        """Note that a large body is no longer needed."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if self._loop is not loop:
            self._loop, self._first = loop, self._last
            loop.call_later(QUIET, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        due = min(self._last + QUIET, self._first + LATEST)
        if loop.time() < due:
            loop.call_at(due, self._look, loop)
            return
        self._loop = None
        loop.run_in_executor(None, _trim)


def _trim() -> None:
    """Return all free memory of this process; does nothing if the C library is not glibc."""
    if _TRIM is not None:
        _TRIM(0)


_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)

_return = _Return()


def give_back_memory() -> None:
    """Soon return memory of large bodies to the system, which the allocator would keep. Call it in an event
    loop when such a body is no longer needed."""
    _return.soon()
