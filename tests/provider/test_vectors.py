from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.services.provider.vectors import Vectors
from leakrange.wire.errors import Unavailable
from leakrange.wire.pairs import sample_marks

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 1)).astype(np.uint8)


class Net:
    """Sums each image, when it is let; remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.go = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.given.append(len(images))
        await self.go.wait()
        if self.failure is not None:
            raise self.failure
        return sums(images)


def sums(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.asarray(images.reshape(len(images), -1).sum(axis=1, keepdims=True), dtype=np.float32)


async def ask(vectors: Vectors, *places: int) -> NDArray[np.float32]:
    chosen = IMAGES[list(places)]
    return await vectors.of(chosen, sample_marks(chosen))


async def test_images_on_their_way_are_not_asked_for_again() -> None:
    net = Net()
    vectors = Vectors(net, most=10)
    first = asyncio.create_task(ask(vectors, 0, 1, 0))
    second = asyncio.create_task(ask(vectors, 1, 2))
    await asyncio.sleep(0)
    third = asyncio.create_task(ask(vectors, 0))
    await asyncio.sleep(0)
    first.cancel()  # whoever came first has gone away; the others wait on
    net.go.set()
    np.testing.assert_array_equal(await second, sums(IMAGES[[1, 2]]))
    np.testing.assert_array_equal(await third, sums(IMAGES[[0]]))
    np.testing.assert_array_equal(await ask(vectors, 2, 1, 0), sums(IMAGES[[2, 1, 0]]))
    assert sorted(net.given) == [1, 2]


async def test_what_failed_is_asked_for_again() -> None:
    net = Net()
    net.failure = Unavailable("full")
    net.go.set()
    vectors = Vectors(net, most=10)
    with pytest.raises(Unavailable):
        await ask(vectors, 0, 1)
    net.failure = None
    np.testing.assert_array_equal(await ask(vectors, 1, 0), sums(IMAGES[[1, 0]]))


async def test_more_images_than_are_kept_are_answered() -> None:
    net = Net()
    net.go.set()
    vectors = Vectors(net, most=2)
    for _ in range(2):
        np.testing.assert_array_equal(await ask(vectors, *range(6)), sums(IMAGES))
    assert net.given == [6, 4]
