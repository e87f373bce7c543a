from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from leakrange.services.provider.batching import Batcher
from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.wire.errors import Unavailable


class Net:
    """Notes its batches, and gives each sample's number and twice that, which tells whose answer it is.
    Batches of up to ``quick`` samples are done at once."""

    seconds_each = 2.5

    def __init__(self, *, fails_on: int | None = None, quick: int = 0) -> None:
        self.quick = quick
        self.batches: list[list[int]] = []
        self.running = 0
        self.fails_on = fails_on
        self.gate: asyncio.Event | None = None
        self.begun = asyncio.Event()

    def short(self, samples: int) -> bool:
        return samples <= self.quick

    async def apart(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        assert self.running == 0, "two batches at once"
        self.running += 1
        numbers = self.note(images)
        await (self.gate.wait() if self.gate else asyncio.sleep(0))
        self.running -= 1
        return self.values(numbers)

    def at_once(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        assert self.running == 0, "two batches at once"
        return self.values(self.note(images))

    def note(self, images: NDArray[np.uint8]) -> NDArray[np.uint32]:
        numbers = images.reshape(len(images), 4).view(np.uint32)[:, 0]
        self.batches.append(numbers.tolist())
        self.begun.set()
        return numbers

    def values(self, numbers: NDArray[np.uint32]) -> NDArray[np.float32]:
        if self.fails_on in numbers:
            raise RuntimeError("the net failed")
        return np.stack([numbers, 2 * numbers], axis=1).astype(np.float32)


def samples(start: int, count: int) -> NDArray[np.uint8]:
    return np.arange(start, start + count, dtype=np.uint32)[:, None].view(np.uint8).reshape(count, 2, 2, 1)


def batcher(net: Net, *, cap: int, limit: int = 10_000, registry: CollectorRegistry | None = None) -> Batcher:
    metrics = ProviderMetrics(registry or CollectorRegistry())
    return Batcher(net, cap=cap, limit=limit, metrics=metrics, model="m", release="logits")


async def arrive(queue: Batcher, start: int, count: int, later: int) -> tuple[int, int, NDArray[np.float32]]:
    for _ in range(later):
        await asyncio.sleep(0)
    return start, count, await queue.answer(samples(start, count))


@settings(deadline=None)
@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 12)), min_size=1, max_size=30),
    st.integers(0, 20),
)
def test_every_request_gets_its_own_answer_in_batches_up_to_the_cap(
    cap: int, requests: list[tuple[int, int]], quick: int
) -> None:
    net = Net(quick=quick)

    async def run() -> list[tuple[int, int, NDArray[np.float32]]]:
        queue = batcher(net, cap=cap)
        starts = np.cumsum([0, *(count for count, _ in requests)])
        return await asyncio.gather(
            *(
                arrive(queue, int(start), count, later)
                for start, (count, later) in zip(starts, requests, strict=False)
            )
        )

    for start, count, values in asyncio.run(run()):
        numbers = np.arange(start, start + count)
        np.testing.assert_array_equal(values, np.stack([numbers, 2 * numbers], axis=1))
    assert max(map(len, net.batches)) <= cap
    worked = [number for batch in net.batches for number in batch]
    assert sorted(worked) == list(range(sum(count for count, _ in requests)))


async def test_what_waits_goes_together_and_nobody_waits_for_more() -> None:
    net = Net()
    net.gate = asyncio.Event()
    queue = batcher(net, cap=8)
    first = asyncio.create_task(queue.answer(samples(0, 1)))
    await net.begun.wait()
    others = [asyncio.create_task(queue.answer(samples(n, 1))) for n in range(1, 12)]
    await asyncio.sleep(0)
    assert net.batches == [[0]]  # alone and at once
    net.gate.set()
    await asyncio.gather(first, *others)
    assert net.batches == [[0], list(range(1, 9)), [9, 10, 11]]


@pytest.mark.parametrize("quick", [0, 4])
async def test_a_long_request_takes_turns_with_short_ones(quick: int) -> None:
    net = Net(quick=quick)
    queue = batcher(net, cap=4)
    order: list[str] = []

    async def note(name: str, start: int, count: int) -> None:
        await queue.answer(samples(start, count))
        order.append(name)

    await asyncio.gather(note("long", 0, 40), note("short", 100, 1), note("shorter", 200, 1))
    assert order == ["short", "shorter", "long"]
    assert net.batches[1][:2] == [100, 200]


async def test_a_full_queue_refuses_and_then_goes_on() -> None:
    registry = CollectorRegistry()
    net = Net()
    net.gate = asyncio.Event()
    queue = batcher(net, cap=4, limit=10, registry=registry)
    waiting = [asyncio.create_task(queue.answer(samples(10 * n, 5))) for n in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="10 samples wait") as refused:
        await queue.answer(samples(50, 1))
    assert refused.value.headers["Retry-After"] == "25"  # 10 samples of 2.5 s each
    labels = {"model": "m", "release": "logits"}
    assert registry.get_sample_value("leakrange_provider_waiting", labels) == 10
    assert registry.get_sample_value("leakrange_provider_refused_total", labels) == 1
    net.gate.set()
    await asyncio.gather(*waiting)
    assert registry.get_sample_value("leakrange_provider_waiting", labels) == 0
    assert (await queue.answer(samples(60, 1)))[0, 0] == 60
    assert registry.get_sample_value("leakrange_provider_samples_total", labels) == 11


async def test_an_empty_queue_takes_a_request_longer_than_its_limit() -> None:
    assert len(await batcher(Net(), cap=4, limit=10).answer(samples(0, 50))) == 50


@pytest.mark.parametrize("quick", [0, 4])
async def test_a_failing_batch_fails_its_requests_and_no_others(quick: int) -> None:
    net = Net(fails_on=5, quick=quick)
    queue = batcher(net, cap=4)
    results: Any = await asyncio.gather(
        queue.answer(samples(0, 4)),
        queue.answer(samples(4, 2)),
        queue.answer(samples(10, 6)),
        return_exceptions=True,
    )
    assert isinstance(results[1], RuntimeError)
    assert len(results[0]) == 4
    # the third shared its batch, and was told so; the next one is answered
    assert isinstance(results[2], RuntimeError)
    assert len(await queue.answer(samples(20, 9))) == 9


async def test_a_request_that_is_given_up_is_not_worked_on() -> None:
    net = Net()
    net.gate = asyncio.Event()
    queue = batcher(net, cap=2)
    tasks = [asyncio.create_task(queue.answer(samples(10 * n, 4))) for n in range(3)]
    await net.begun.wait()
    tasks[1].cancel()
    net.gate.set()
    await asyncio.gather(tasks[0], tasks[2])
    assert not any(10 <= number < 20 for batch in net.batches for number in batch)
