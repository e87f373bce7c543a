"""Jobs that run out of memory, under a limit of the kernel's: they fail and say what to do, nothing that is
stored is taken for damaged, and their worker does the next."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from leakrange.jobs.recipe import NetSpec, Schedule
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.store.files import get_arrays, put_array
from leakrange.wire.digests import digest
from tests.attacker.fleet import FACES, Fleet, children, fleet_on, has_torch
from tests.attacker.test_training import train_job
from tests.patience import until

ROOM = 48 * 2**20
"""Bytes that a process may still take: enough for small jobs."""
TOO_WIDE = 50_000
"""Numbers of an answer of which 70 can be read from the disk, and do not fit a second time."""


@pytest.fixture
def fleet(redis_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on(redis_url, 4, tmp_path) as fleet:
        yield fleet


@contextmanager
def limited(pids: list[int]) -> Iterator[None]:
    """These processes, and those that they fork, get no more than `ROOM` of address space."""
    for pid in pids:
        most = psutil.Process(pid).memory_info().vms + ROOM
        resource.prlimit(pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    yield
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def fit_job(fleet: Fleet, samples: int, width: int) -> FitJob:
    """A fit on so many stored answers for each of 70 faces."""
    names = [digest(["answers", width, number]) for number in range(samples)]
    for name in names:
        put_array(fleet.releases, f"{name}.npy", np.random.default_rng(0).normal(size=(70, width)))
    span = Span(data=FACES, split="auxiliary", start=10, stop=80).model_dump(mode="json")
    evidence = {"sensitive": "smile", "span": span, "auxiliary": [names], "observed": [names[:1]]}
    return FitJob.model_validate(
        {
            "attack": "attribute-inference",
            "parameters": {"sensitive": "smile"},
            "knowledge": "averaging",
            "evidence": evidence,
        }
    )


def test_a_fit_without_memory_says_so_and_harms_no_file(fleet: Fleet) -> None:
    worker = fleet.ready(fleet.start("fit", 1))
    assert fleet.end_of(fleet.send(fit_job(fleet, 1, 6))).state == "done"
    large = fit_job(fleet, 2, TOO_WIDE)
    stored = sorted(path.name for path in fleet.releases.root.iterdir())
    (fork,) = children(worker.pid)
    with limited([fork]):
        failed = fleet.end_of(fleet.send(large))
        assert failed.state == "failed"
        assert "out of memory" in failed.message
        assert "give the worker more memory" in failed.message
        assert sorted(path.name for path in fleet.releases.root.iterdir()) == stored
        small = fit_job(fleet, 2, 7)
        assert fleet.end_of(fleet.send(small)).state == "done"
        assert len(get_arrays(fleet.releases, f"{small.identity()}.npz")["predicted"]) == 70
    assert children(worker.pid) == [fork]


def test_a_training_without_memory_says_so_and_the_next_is_made(fleet: Fleet) -> None:
    worker = fleet.ready(fleet.start("train", 1, train_device="cpu"))
    assert fleet.end_of(fleet.send(train_job(1))).state == "done"
    until(lambda: len([pid for pid in children(worker.pid) if has_torch(pid)]) == 1)  # its fork has ended
    trainers = [pid for pid in children(worker.pid) if has_torch(pid)]
    with limited(trainers):
        large = train_job(seed=1, net=NetSpec(width=8.0), schedule=Schedule(epochs=1, batch=400))
        failed = fleet.end_of(fleet.send(large))
        assert failed.state == "failed"
        assert "memory" in failed.message
        assert "smaller batch" in failed.message
        assert not fleet.models.exists(large.identity())
    assert fleet.end_of(fleet.send(train_job(1, seed=2))).state == "done"
    until(lambda: [pid for pid in children(worker.pid) if has_torch(pid)] == trainers)
