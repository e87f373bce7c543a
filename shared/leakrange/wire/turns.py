"""Large bodies are decoded outside the event loop, and take turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from leakrange.wire.numbers import finish

__all__ = ["LARGE", "apart", "in_turns"]

T = TypeVar("T")

LARGE: Final = 65_536
"""Bytes from which on a body is read in turns: smaller ones are read before another thread would begin."""
TURN: Final = 0.005
"""Seconds of work of one turn, or one step of it where that takes longer."""

_lane = ThreadPoolExecutor(1, thread_name_prefix="large-bodies")
# One thread only, so that the event loop shares the interpreter with one other at most.


async def in_turns(work: Generator[Any, None, T], size: int) -> T:
    """Return the result of ``work`` on a body of ``size`` bytes. Small bodies are done at once; large ones
    share one thread, which does a few steps of each in turn."""
    if size < LARGE:
        result: T = finish(work)
        return result
    loop = asyncio.get_running_loop()
    while not (turn := await loop.run_in_executor(_lane, _turn, work)):
        pass
    return turn[0]


async def apart(work: Callable[[], T], size: int) -> T:
    """Return the result of ``work()``; for a large body in the thread of `in_turns`, in a single turn."""
    if size < LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_lane, work)


def _turn(work: Generator[Any, None, T]) -> tuple[()] | tuple[T]:
    """Return the result, once there is one."""
    until = time.perf_counter() + TURN
    while time.perf_counter() < until:
        try:
            next(work)
        except StopIteration as end:
            return (end.value,)
    return ()
