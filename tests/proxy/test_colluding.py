"""Keys that ask about similar samples share one budget; others do not."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.services.proxy.sketches import sketches
from leakrange.wire.tensors import NPY, encode_npy
from tests.proxy.conftest import Range, pictures, problem

SECRET = b"of the tests"


def apart(first: str, second: str) -> int:
    return (int(first, 16) ^ int(second, 16)).bit_count()


def smooth(count: int, seed: int, shape: tuple[int, ...] = (32, 32, 3)) -> NDArray[np.uint8]:
    """Pictures with shapes in them: coarse noise, enlarged."""
    coarse = np.random.default_rng(seed).integers(0, 256, (count, shape[0] // 4, shape[1] // 4, 3))
    return coarse.repeat(4, axis=1).repeat(4, axis=2).astype(np.uint8)


def varied(images: NDArray[np.uint8], seed: int, scale: float = 6.0) -> NDArray[np.uint8]:
    """The same pictures with noise, brighter and with less contrast."""
    noise = np.random.default_rng(seed).normal(12, scale, images.shape)
    return np.clip(images * 0.9 + noise, 0, 255).astype(np.uint8)


def test_similar_samples_have_similar_sketches_and_others_do_not() -> None:
    images = smooth(200, 0)
    first, again = sketches(images, SECRET), sketches(varied(images, 1), SECRET)
    assert np.mean([apart(a, b) <= 4 for a, b in zip(first, again, strict=True)]) > 0.95
    between = [apart(a, b) for number, a in enumerate(first) for b in first[:number]]
    assert min(between) > 8
    assert 30 < np.mean(between) < 34  # of 64 bits, as of independent coins
    assert sketches(images, b"another secret") != first


@pytest.mark.parametrize("along", [1, 2], ids=["rows", "columns"])
def test_pictures_that_differ_along_one_axis_alone_are_told_apart(along: int) -> None:
    stripes = smooth(40, 3).take([0], axis=3 - along).repeat(32, axis=3 - along)
    told = sketches(stripes, SECRET)
    assert 25 < np.mean([apart(a, b) for number, a in enumerate(told) for b in told[:number]]) < 39


@pytest.mark.parametrize(
    ("shape", "equal_alone"), [((3,), True), ((400,), False), ((20, 30), False), ((28, 28, 1), False)]
)
def test_every_shape_of_sample_has_a_sketch(shape: tuple[int, ...], equal_alone: bool) -> None:
    samples = np.random.default_rng(0).normal(size=(5, *shape)).astype(np.float32)
    first, near = sketches(samples, SECRET), sketches(samples + np.float32(1e-3), SECRET)
    assert len(set(first)) == 5
    assert sketches(samples, SECRET) == first
    assert (near != first) if equal_alone else all(map(lambda a, b: apart(a, b) <= 2, near, first))


def test_of_a_large_batch_some_are_sketched() -> None:
    assert len(sketches(np.zeros((1000, 4, 4, 3), dtype=np.uint8), SECRET)) == 256


def ask(live: Range, key: str, images: NDArray[np.uint8]) -> int:
    return live.post(key, "logits", encode_npy(images)).status_code


def used(live: Range) -> dict[str, int]:
    found: dict[str, int] = live.admin("GET", "/limits/one")["used"]
    return found


def test_keys_that_split_one_attack_share_a_budget(live: Range) -> None:
    live.admin("PUT", "/limits/one", {"kind": "colluding", "samples": 50, "matches": 6, "distance": 6})
    first, second, honest = (live.key(100, id=id_, limits=["one"]) for id_ in ("a", "b", "honest"))
    images = pictures(40)
    assert ask(live, first, images[:20]) == 200
    assert ask(live, honest, pictures(30, seed=9)) == 200
    assert ask(live, second, images[:3]) == 200
    assert ask(live, second, images[3:5]) == 200  # five in common are not enough
    assert ask(live, second, images[:5]) == 200  # and the same five do not count again
    assert used(live) == {"a": 20, "b": 10, "honest": 30}
    assert ask(live, second, images[5:6]) == 200
    assert sorted(used(live).values()) == [30, 31]
    assert ask(live, first, pictures(19, seed=3)) == 200  # all that the two have left
    told = problem(live.post(second, "logits", encode_npy(images[:1])), 429, "budget-exhausted")
    assert (told["limit"], told["remaining"]) == ("one", 0)
    assert ask(live, honest, pictures(20, seed=10)) == 200
    problem(live.post(honest, "logits", encode_npy(images[:1])), 429, "budget-exhausted")
    live.admin("PATCH", "/keys/b", {"limits": []})
    assert ask(live, second, images[:1]) == 200


def test_what_failed_comes_back_to_the_group(live: Range) -> None:
    live.admin("PUT", "/limits/one", {"kind": "colluding", "samples": 30, "matches": 2})
    first, second = (live.key(None, id=id_, limits=["one"]) for id_ in ("a", "b"))
    images = pictures(10)
    assert ask(live, first, images) == ask(live, second, images) == 200

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    for key in (first, second):
        assert ask(live, key, images) == 502
    live.provider.before = None
    assert sum(used(live).values()) == 20
    assert ask(live, first, images) == 200
    assert ask(live, second, images[:1]) == 429


def test_groups_that_form_under_load_are_counted_exactly(live: Range) -> None:
    """Eight keys of two attacks, all at once: each attack gets one budget, whatever the order."""
    live.admin("PUT", "/limits/one", {"kind": "colluding", "samples": 120, "matches": 1})
    attacks = [pictures(30, seed=seed) for seed in (1, 2)]
    keys = [live.key(None, id=f"k{number}", limits=["one"]) for number in range(8)]
    answered = [0] * 8

    async def client(session: aiohttp.ClientSession, number: int) -> None:
        own: Any = np.random.default_rng(number)
        for _ in range(12):
            chosen = own.choice(30, 4, replace=False)
            body = encode_npy(varied(attacks[number % 2][chosen], int(own.integers(1 << 30)), 0.5))
            headers = {"Authorization": f"Bearer {keys[number]}", "Content-Type": NPY}
            async with session.post(
                f"{live.url}/v1/models/digits/logits", data=body, headers=headers
            ) as answer:
                await answer.read()
                assert answer.status in (200, 429)
                answered[number] += 4 if answer.status == 200 else 0

    async def storm() -> None:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(client(session, number) for number in range(8)))

    asyncio.run(storm())
    assert [live.account(f"k{number}")["spent"] for number in range(8)] == answered
    groups = used(live)
    assert len(groups) == 2
    assert sorted(groups.values()) == sorted([sum(answered[0::2]), sum(answered[1::2])])
    assert all(120 <= samples <= 150 for samples in groups.values())
