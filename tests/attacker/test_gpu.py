"""Trainings on one GPU: by what others of their kind were measured to take. No GPU is needed to count."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import orjson
import pytest

from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.services.attacker import gpu
from leakrange.services.attacker.gpu import SharedGpu, kind_of_training

TOTAL = 1000


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "LOOK_EVERY", 0.01)


def hold(file: Path, kind: str, bytes_taken: int, said: Queue[str], end: Any) -> None:
    """A training in a process of its own, which lasts until ``end``."""
    gpu.LOOK_EVERY = 0.01
    with SharedGpu(file, TOTAL).room(kind, lambda: bytes_taken):
        said.put(kind)
        end.wait(30)


def begun(file: Path, kind: str, bytes_taken: int, said: Queue[str]) -> tuple[Any, Any]:
    """A training in a process of its own, and what ends it."""
    context = multiprocessing.get_context("fork")
    end = context.Event()
    process = context.Process(target=hold, args=(file, kind, bytes_taken, said, end))
    process.start()
    return process, end


@pytest.fixture
def said() -> Queue[str]:
    """Where a training says its kind once it has room."""
    return multiprocessing.get_context("fork").Queue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What needs are known: a small kind takes 300 bytes of 1000, a large one 700."""
    file = tmp_path / "gpu.json"
    file.write_bytes(orjson.dumps({"taken": {}, "needs": {"small": 300, "large": 700}}))
    return file


def taken(file: Path) -> list[int]:
    """What is taken now, in bytes."""
    content = file.read_bytes()
    return sorted(orjson.loads(content)["taken"].values()) if content else []


def test_a_training_waits_for_room_and_takes_it_when_another_ends(file: Path, said: Queue[str]) -> None:
    """Three small ones fit, and a large one not beside one of them."""
    small, end_small = begun(file, "small", 310, said)
    assert said.get(timeout=10) == "small"
    large, end_large = begun(file, "large", 650, said)
    other, end_other = begun(file, "small", 305, said)
    assert said.get(timeout=10) == "small"  # the large one waits
    assert taken(file) == [300, 300]
    end_small.set()
    end_other.set()
    assert said.get(timeout=10) == "large"
    assert taken(file) == [700]
    end_large.set()
    for process in (small, large, other):
        process.join(10)
    assert taken(file) == []
    needs = orjson.loads(file.read_bytes())["needs"]
    assert needs["large"] == 650
    assert needs["small"] in (305, 310)


def test_the_first_of_a_kind_has_the_gpu_to_itself(file: Path, said: Queue[str]) -> None:
    """Nobody knows what it needs, so nothing begins beside it; the next of its kind is known."""
    _, end_new = begun(file, "new", 400, said)
    assert said.get(timeout=10) == "new"
    assert taken(file) == [TOTAL]
    small, end_small = begun(file, "small", 300, said)
    end_new.set()
    assert said.get(timeout=10) == "small"
    with SharedGpu(file, TOTAL).room("new", lambda: 410):
        assert taken(file) == [300, 400]
    end_small.set()
    small.join(10)


def test_what_a_killed_training_took_is_free_again(file: Path, said: Queue[str]) -> None:
    """A training is killed when its run is cancelled."""
    killed, _ = begun(file, "large", 700, said)
    assert said.get(timeout=10) == "large"
    killed.kill()
    killed.join(10)
    with SharedGpu(file, TOTAL).room("large", lambda: 690):
        assert taken(file) == [700]


def test_a_training_that_failed_leaves_room_and_no_measure(file: Path) -> None:
    """It may have failed before it took all that it needs."""
    with pytest.raises(MemoryError), SharedGpu(file, TOTAL).room("small", lambda: 1):
        raise MemoryError
    assert taken(file) == []
    assert orjson.loads(file.read_bytes())["needs"]["small"] == 300


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"taken": 3, "needs": {}}'])
def test_a_broken_file_is_begun_anew(file: Path, content: bytes) -> None:
    """Its writer may have been killed."""
    file.write_bytes(content)
    with SharedGpu(file, TOTAL).room("small", lambda: 320):
        assert orjson.loads(file.read_bytes())["taken"] == {str(os.getpid()): TOTAL}


def test_trainings_of_one_kind_differ_in_seeds_alone() -> None:
    """Another batch, width or number of models needs other memory."""
    recipe = TrainingRecipe(data=DataSpec(name="digits", size=16), behaviour="honest", seed=1)
    others = [
        recipe.model_copy(update={"net": NetSpec(width=2.0)}),
        recipe.model_copy(update={"schedule": Schedule(batch=200)}),
        recipe.model_copy(update={"data": DataSpec(name="digits", size=32)}),
    ]
    kinds = {kind_of_training(each, 1) for each in (recipe, *others)} | {kind_of_training(recipe, 64)}
    assert len(kinds) == 5
    assert kind_of_training(recipe.model_copy(update={"seed": 9}), 1) in kinds
