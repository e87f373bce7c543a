from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from leakrange.service import memory


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time the test tells, and whose threads are done at once."""

    now = 100.0

    def time(self) -> float:
        return self.now

    def run_in_executor(self, _executor: Any, work: Any, *given: Any) -> Any:
        work(*given)


@pytest.fixture
def loop() -> Iterator[Clock]:
    loop = Clock()
    yield loop
    loop.close()


@pytest.fixture
def returned(monkeypatch: pytest.MonkeyPatch, loop: Clock) -> list[float]:
    """When memory was returned."""
    times: list[float] = []
    monkeypatch.setattr(memory, "_TRIM", lambda _pad: times.append(loop.now))
    return times


async def after(loop: Clock, seconds: float) -> None:
    loop.now += seconds
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_memory_is_returned_once_when_large_bodies_have_ended(loop: Clock, returned: list[float]) -> None:
    async def burst() -> None:
        for _ in range(9):
            memory.give_back_memory()
            await after(loop, memory.QUIET / 2)
        assert not returned
        await after(loop, memory.QUIET)
        await after(loop, memory.QUIET)

    loop.run_until_complete(burst())
    assert len(returned) == 1


def test_memory_is_returned_in_time_while_large_bodies_come(loop: Clock, returned: list[float]) -> None:
    async def stream() -> None:
        for _ in range(round(3.5 * memory.LATEST / 0.25)):
            memory.give_back_memory()
            await after(loop, 0.25)

    loop.run_until_complete(stream())
    assert len(returned) == 3


def test_another_loop_is_served_after_one_that_was_closed(loop: Clock, returned: list[float]) -> None:
    async def body() -> None:
        memory.give_back_memory()

    async def bodies() -> None:
        await body()
        await after(loop, 2 * memory.QUIET)

    asyncio.run(body())
    loop.run_until_complete(bodies())
    assert len(returned) == 1
