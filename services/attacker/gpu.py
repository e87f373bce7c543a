"""Trainings that share one GPU: each begins when there is room for it beside the others.

A training's need is what the last one of its kind was measured to take. The first of a kind has the GPU to
itself, since nobody knows its need yet. What is taken stands in one file for all processes of this user on
the machine; what a dead process took is free again.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.wire.digests import digest

__all__ = ["SharedGpu", "kind_of_training", "shared_gpu"]

LOOK_EVERY = 0.5
"""Seconds between two looks for room."""
SHARE = 0.9
"""Of the memory that trainings may take: it is not measured to the last byte."""
CONTEXT = 2**30
"""The most that a process takes of a GPU before its first tensor."""


def kind_of_training(recipe: TrainingRecipe, models: int) -> str:
    """The kind of a training of so many models at once: those of one kind need equally much memory."""
    schedule = recipe.schedule
    data = recipe.data.model_dump(mode="json", include={"name", "size"})
    details = [data, recipe.behaviour, recipe.net.name, recipe.net.width]
    return digest([*details, schedule.batch, schedule.bf16, str(schedule.augment), models])


class SharedGpu:
    """The memory of one GPU of ``total`` bytes, as ``file`` records it for all processes."""

    def __init__(self, file: Path, total: int) -> None:
        self._file, self._total = file, total

    @contextmanager
    def room(self, kind: str, measured: Callable[[], int]) -> Iterator[None]:
        """Wait until there is room for a training of that ``kind``, and hold it while the block runs. Then
        ``measured`` tells how many bytes it took."""
        while not self._taken(kind):
            time.sleep(LOOK_EVERY)
        try:
            yield
            with self._state() as state:
                state["needs"][kind] = measured()
        finally:
            with self._state() as state:
                state["taken"].pop(str(os.getpid()), None)

    def _taken(self, kind: str) -> bool:
        """Take the room for a training, if there is any."""
        with self._state() as state:
            taken = state["taken"]
            for process in [each for each in taken if not _alive(int(each))]:
                del taken[process]
            need = min(state["needs"].get(kind, self._total), self._total)
            if taken and sum(taken.values()) + need > SHARE * self._total:
                return False
            taken[str(os.getpid())] = need
            return True

    @contextmanager
    def _state(self) -> Iterator[dict[str, dict[str, int]]]:
        """What is taken by process, and the needs by kind; changes are kept. One process at a time."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self._file, flags, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            state = _read(file)
            yield state
            file.seek(0)
            file.write(orjson.dumps(state))
            file.truncate()


def _read(file: IO[bytes]) -> dict[str, dict[str, int]]:
    try:
        state: Any = orjson.loads(file.read())
        return {"taken": dict(state["taken"]), "needs": dict(state["needs"])}
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):  # new, or its writer was killed
        return {"taken": {}, "needs": {}}


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        pass
    return True


@contextmanager
def shared_gpu(recipe: TrainingRecipe, models: int, device: str) -> Iterator[None]:
    """Hold room on the GPU for the training of so many ``models`` at once; nothing where ``device`` is a
    CPU."""
    if not device.startswith("cuda"):
        yield
        return
    import torch

    gpu = torch.cuda.get_device_properties(device)
    file = Path(tempfile.gettempdir()) / f"leakrange-gpu-{os.getuid()}-{digest([str(gpu.uuid)])[:16]}.json"

    def measured() -> int:
        free, total = torch.cuda.mem_get_info(device)
        beside = total - free - torch.cuda.memory_reserved(device)  # contexts, this one's and others'
        return torch.cuda.max_memory_reserved(device) + min(beside, CONTEXT)

    with SharedGpu(file, gpu.total_memory).room(kind_of_training(recipe, models), measured):
        yield
