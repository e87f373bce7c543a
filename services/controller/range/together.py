"""Runs tasks side by side: all of a list, or each name once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """Tasks by name: the first caller that needs one starts it, all callers await it."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def begin(
        self, name: str, make: Callable[[], Coroutine[Any, Any, T]], *, kept: bool = True
    ) -> asyncio.Task[T]:
        """The one task of that name. Unless it is ``kept``, it is forgotten when it has succeeded."""
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = asyncio.create_task(make(), name=name)
            if not kept:
                task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and task.exception() is None:
            del self._tasks[task.get_name()]

    async def need(self, name: str, make: Callable[[], Coroutine[Any, Any, T]], *, kept: bool = True) -> T:
        """The result of that task. It is shielded: a caller that fails must not cancel what others wait
        for."""
        return await asyncio.shield(self.begin(name, make, kept=kept))

    async def end(self) -> None:
        """Cancel what still runs, and wait until it has ended."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def in_turn(works: Iterable[Callable[[], Coroutine[Any, Any, object]]], at_once: int) -> None:
    """Carry out works in order, ``at_once`` at a time. When one fails, the others are cancelled, as by
    `together`: but there are never tasks for all of them."""
    waiting = iter(works)

    async def one_after_the_other() -> None:
        for work in waiting:
            await work()

    await together(one_after_the_other() for _ in range(at_once))


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results in order. When one task fails, the others are cancelled before its error is raised:
    otherwise they would go on to spend budgets and write to the record of a run that is over."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def being_cancelled() -> bool:
    """Whether cancellation of the running task was requested."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
