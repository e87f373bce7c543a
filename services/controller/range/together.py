"""Works that run side by side: all of them, or each of them once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

__all__ = ["Once", "being_cancelled", "together"]

T = TypeVar("T")


class Once:
    """Works by name: begun by whoever needs one first, awaited by all."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def begin(self, name: str, make: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """The one task of that name."""
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(make(), name=name)
        return self._tasks[name]

    async def need(self, name: str, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of that task. Shielded: who fails must not cancel what others wait for."""
        return await asyncio.shield(self.begin(name, make))

    async def end(self) -> None:
        """Cancel what still runs, and wait until it has ended."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results in order. When one fails the others are ended before its error is raised: what goes on
    behind a failed trial would spend budgets and write into the record of a run that is over.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def being_cancelled() -> bool:
    """Whether somebody asked the running task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
