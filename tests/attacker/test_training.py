"""Trainings: in processes that die with their worker, or when they are told to."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

from leakrange.data import load
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, Subset, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.show import SHOW, ShowJob
from leakrange.jobs.steps.train import TrainJob
from leakrange.providers.artifact_files import read_files
from leakrange.store.files import get_array
from tests.attacker.fleet import FACES, Fleet, Worker, alive, children, fleet_on, has_torch
from tests.patience import until


@pytest.fixture(scope="module")
def fleet(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_on(redis_url, 3, tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def worker(fleet: Fleet) -> Worker:
    return fleet.ready(fleet.start("train", 1, train_device="cpu"))


def train_job(epochs: int = 2, seed: int = 0, **changes: Any) -> TrainJob:
    fields: dict[str, Any] = {
        "data": FACES,
        "behaviour": "honest",
        "parameters": {"target": "smile"},
        "net": NetSpec(width=0.1),
        "schedule": Schedule(epochs=epochs, batch=50),
        "seed": seed,
    }
    return TrainJob(recipe=TrainingRecipe(**(fields | changes)))


def trainers(worker: Worker) -> list[int]:
    """Processes of the worker that have the framework."""
    return [pid for pid in children(worker.pid) if has_torch(pid)]


def test_a_model_is_trained_and_its_progress_told_in_order(fleet: Fleet, worker: Worker) -> None:
    from leakrange.providers.artifact import load as load_artifact

    job = train_job(epochs=4)
    done = fleet.end_of(fleet.send(job))
    assert done.state == "done", done
    artifact = load_artifact(fleet.models.path(job.identity()))
    assert artifact.record["recipe"] == job.recipe.model_dump(mode="json")
    assert done.data["figures"] == artifact.record["figures"]
    told = fleet.reports(job.identity())
    assert told[0].state == "started"
    assert {report.state for report in told[1:-1]} == {"progress"}
    shares = [report.progress for report in told[1:-1]]
    assert shares == sorted(shares)
    epochs = [report.data["epoch"] for report in told if "honesty" in report.data]
    assert epochs == [1, 2, 3, 4]
    assert "epoch 4 of 4, honesty" in told[-2].message


def test_a_defence_is_trained_as_a_model_is_and_devices_can_run_it(fleet: Fleet, worker: Worker) -> None:
    link = {"private": "skin", "useful": "glasses", "width": 0.1, "epochs": 3, "batch": 50, "embedding": 16}
    planned, (recipe,) = DefenceChain.parse([{"pass": link}]).planned(FACES, seed=0)
    job = TrainJob(recipe=recipe)
    done = fleet.end_of(fleet.send(job))
    assert done.state == "done", done
    told = read_files(fleet.models.path(job.identity()), "defence")
    assert told.record["recipe"] == recipe.model_dump(mode="json")
    assert done.data["figures"] == told.record["figures"]
    assert [entry["epoch"] for entry in told.record["history"]] == [1, 2, 3]
    assert "epoch 3 of 3" in fleet.reports(job.identity())[-2].message
    faces = load(FACES)
    shown = planned.bound(lambda _: told.main).obfuscate(faces.values[:9], faces.spec, default_rng(0))
    substitutes = faces.values[faces.where("train")[told.record["substitutes"]]]
    assert all((one == substitutes).all(axis=(1, 2, 3)).any() for one in shown)


def test_small_models_are_trained_by_one_job_and_shown_for_several_spans_by_one(
    fleet: Fleet, worker: Worker
) -> None:
    """Each model has a folder of its own, and each span a file; and a net with convolutions is left alone."""
    from leakrange.providers.artifact import load as load_artifact
    from leakrange.providers.inference import outputs

    data = DataSpec(name="synthtable", subset=Subset(pool=160))
    recipes = [
        train_job(
            data=data.model_copy(update={"subset": Subset(pool=160, seed=number)}),
            parameters={"target": "group"},
            net=NetSpec(name="mlp"),
            schedule=Schedule(epochs=2, batch=16, select="last"),
            seed=number,
        ).recipe
        for number in range(3)
    ]
    job = TrainJob(recipe=recipes[0], with_others=tuple(recipes[1:]))
    done = fleet.end_of(fleet.send(job))
    assert (done.state, done.data["apart"]) == ("done", False), done
    for recipe in recipes:
        artifact = load_artifact(fleet.models.path(recipe.digest()))
        assert artifact.record["recipe"] == recipe.model_dump(mode="json")
    assert [report.data["epoch"] for report in fleet.reports(job.identity()) if "loss" in report.data] == [
        1,
        2,
    ]
    pictures = [train_job(seed=seed).recipe for seed in range(2)]
    apart = fleet.end_of(fleet.send(TrainJob(recipe=pictures[0], with_others=(pictures[1],))))
    assert (apart.state, apart.data["apart"]) == ("done", True), apart
    assert not fleet.models.exists(pictures[0].digest())

    spans = [Span(data=data, split="pool", start=start, stop=start + 20) for start in (40, 0)]
    show = ShowJob(recipe=recipes[1], release="logits", span=spans[0], further=(spans[1],))
    assert fleet.end_of(fleet.send(show)).state == "done"
    samples = load(data)
    classifier = load_artifact(fleet.models.path(recipes[1].digest())).classifier
    for single, span in zip(show.apart(), spans, strict=True):
        asked = samples.values[samples.where("pool")[span.start : span.stop]]
        stored = get_array(fleet.releases, SHOW.file(single.identity()))
        np.testing.assert_allclose(stored, outputs(classifier, asked, "logits"), atol=1e-5)


def test_a_model_that_was_planned_with_other_versions_is_not_trained(fleet: Fleet, worker: Worker) -> None:
    plain = train_job(seed=5).recipe
    planned = plain.model_copy(update={"versions": plain.versions.model_copy(update={"net": 99})})
    job = TrainJob(recipe=planned)
    done = fleet.end_of(fleet.send(job))
    assert done.state == "failed"
    assert "run the scenario again" in done.message
    assert not fleet.models.path(job.identity()).exists()


def test_the_next_training_is_spared_the_imports_and_the_worker_all_of_them(
    fleet: Fleet, worker: Worker
) -> None:
    until(lambda: len(trainers(worker)) == 1, 5, "the training is over")
    before = trainers(
        worker
    )  # it waits for the next recipe; neither the worker nor its fork has the framework
    assert fleet.end_of(fleet.send(train_job(seed=1))).state == "done"
    until(lambda: trainers(worker) == before, 5, "the training is over, the trainer stays")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"parameters": {"target": "height"}}, "no attribute 'height'"),
        ({"behaviour": "honset"}, "did you mean 'honest'"),
        ({"parameters": {"target": "smile", "speed": 2}}, "speed"),
        ({"data": {"name": "synthface"}}, "synthfaces"),
        ({"net": NetSpec(name="hbx")}, "hbc"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused_with_the_reason(
    fleet: Fleet, worker: Worker, change: dict[str, Any], told: str
) -> None:
    before = trainers(worker)
    failed = fleet.end_of(fleet.send(train_job(**change)))
    assert failed.state == "failed"
    assert told in failed.message
    until(lambda: trainers(worker) == before, 5, "the trainer goes on, alone")


def begun(fleet: Fleet, worker: Worker, seed: int) -> tuple[str, list[int]]:
    """A training under way that would take minutes, and the processes it has."""
    identity = fleet.send(train_job(epochs=1000, seed=seed))
    fleet.wait_for(identity, "progress")
    processes = trainers(worker)
    assert len(processes) == 2
    return identity, processes


def test_a_cancelled_training_stops_within_seconds(fleet: Fleet, worker: Worker) -> None:
    identity, processes = begun(fleet, worker, seed=2)
    cancelled = time.monotonic()
    fleet.cancel(identity)
    failed = fleet.wait_for(identity, "failed", 5)
    until(lambda: not any(map(alive, processes)), 5 - (time.monotonic() - cancelled), "training stopped")
    assert failed.message == "cancelled"
    assert not fleet.models.exists(identity)
    assert fleet.end_of(fleet.send(train_job(seed=3))).state == "done"


def test_a_training_that_dies_is_reported(fleet: Fleet, worker: Worker) -> None:
    identity, processes = begun(fleet, worker, seed=4)
    os.kill(max(processes), signal.SIGKILL)
    failed = fleet.wait_for(identity, "failed", 10)
    assert "SIGKILL" in failed.message
    assert "memory" in failed.message


def test_a_training_dies_with_its_worker(fleet: Fleet, worker: Worker) -> None:
    """Only the worker's main process is killed; the rest must follow."""
    _, processes = begun(fleet, worker, seed=5)
    everyone = [worker.pid, *children(worker.pid)]
    assert set(processes) < set(everyone)
    os.kill(worker.pid, signal.SIGKILL)
    worker.process.wait()
    until(lambda: not any(map(alive, everyone)), 5, "all are dead")


def test_nothing_is_left_half_written(fleet: Fleet) -> None:
    folders: list[Path] = list(fleet.models.root.iterdir())
    assert all((folder / "training.json").exists() for folder in folders), folders
