"""What the fleet does with jobs that nothing disturbs, and with such as cannot be done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis
from pydantic import ValidationError

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Evidence, Inference
from leakrange.attacks.attribute_inference import AttributeInference
from leakrange.data import load
from leakrange.jobs.orders import CANCEL, LEASE, ORDER, JobReport, Order
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.jobs.steps.walk import WalkJob
from leakrange.services.attacker.reports import Reporter
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import JobContext
from leakrange.services.attacker.tasks.fit import fit
from leakrange.store.files import FolderStore, get_array, get_arrays, put_array
from leakrange.wire.digests import digest
from leakrange.wire.keys import api_key
from tests.attacker.fleet import (
    FACES,
    FLEET_SECRET,
    Fleet,
    Worker,
    children,
    fleet_on,
    has_torch,
    probe_job,
)
from tests.attacker.upstream import Upstream, answers
from tests.patience import until
from tests.serving import serving

RETRIES = 3


@pytest.fixture(scope="module")
def fleet(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_on(redis_url, 1, tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def worker(fleet: Fleet) -> Worker:
    return fleet.ready(fleet.start(retries=RETRIES, retry_pause=0.05, log_level="debug"))


@pytest.fixture
def upstream(worker: Worker) -> Iterator[tuple[Upstream, str]]:
    app = Upstream()
    with serving(app) as url:
        yield app, url
        app.release()


def fit_job(evidence: dict[str, object], **changes: object) -> FitJob:
    span = Span(data=FACES, split="auxiliary", start=10, stop=80).model_dump(mode="json")
    fields: dict[str, object] = {
        "attack": "attribute-inference",
        "parameters": {"sensitive": "smile"},
        "knowledge": "averaging",
        "evidence": {"sensitive": "smile", "span": span, **evidence},
    }
    return FitJob.model_validate(fields | changes)


def test_a_chunk_is_asked_once_under_its_identity_and_stored(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    app, url = upstream
    job = probe_job(url, 5, 25)
    done = fleet.wait_for(fleet.send(job), "done")
    data = load(FACES)
    images = data.values[data.where("auxiliary")[5:25]]
    stored = get_array(fleet.releases, f"{job.identity()}.npy")
    assert stored.dtype == np.float32
    np.testing.assert_array_equal(stored, answers(images))
    (request,) = app.requests
    assert request["path"] == "/v1/models/digits/logits"
    assert request["idempotency-key"] == job.identity()
    assert request["authorization"] == f"Bearer {api_key(FLEET_SECRET, 'an-account')}"
    assert (done.kind, done.progress, done.data["samples"]) == ("probe", 1.0, 20)
    assert fleet.states(job.identity()) == ["started", "done"]
    until(lambda: not fleet.redis.exists(LEASE.format(identity=job.identity())), 5, "lease given up")


def test_a_chunk_of_pairs_is_asked_of_a_verification(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    pairs = [(0, 1), (1, 0), (2, 2), (19, 3)]
    job = probe_job(url, 5, 25, endpoint="verification", pairs=pairs)
    done = fleet.wait_for(fleet.send(job), "done")
    data = load(FACES)
    images = data.values[data.where("auxiliary")[5:25]]
    expected = answers(images[np.array(pairs)])
    np.testing.assert_array_equal(get_array(fleet.releases, f"{job.identity()}.npy"), expected)
    assert len(np.unique(expected)) == 4
    (request,) = app.requests
    assert request["path"] == "/v1/models/digits/verification"
    assert request["idempotency-key"] == job.identity()
    assert done.data["samples"] == 4


def test_samples_are_obfuscated_before_they_are_sent_and_each_draw_anew(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    app, url = upstream
    chosen = {"endpoint": "sample", "defence": [{"gaussian-input": 0.5}]}
    jobs = [probe_job(url, 5, 25, draw=draw, **chosen) for draw in (0, 1)]
    for job in jobs:
        fleet.wait_for(fleet.send(job), "done")
    data = load(FACES)
    images = data.values[data.where("auxiliary")[5:25]]
    (first, second) = app.images
    assert first.dtype == np.uint8
    assert 20 < np.abs(first.astype(int) - images).mean() < 64  # of noise with the deviation 64, cut
    assert (first != second).mean() > 0.5
    assert [request["path"] for request in app.requests] == ["/v1/models/digits/sample"] * 2
    np.testing.assert_array_equal(get_array(fleet.releases, f"{jobs[0].identity()}.npy"), answers(first))


def test_a_recognition_is_asked_at_its_own_endpoint(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    job = probe_job(url, 0, 4, endpoint="recognition")
    fleet.wait_for(fleet.send(job), "done")
    assert [request["path"] for request in app.requests] == ["/v1/models/digits/recognition"]
    assert get_array(fleet.releases, f"{job.identity()}.npy").shape == (4, 6)


def test_a_walk_that_begins_again_asks_the_same_under_the_same_identities(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    app, url = upstream
    where = {name: getattr(probe_job(url, 0, 1), name) for name in ("url", "account", "model", "artifact")}
    span = Span(data=FACES, split="auxiliary", start=3, stop=11)
    job = WalkJob(
        **where, policy=digest("none"), endpoint="softmax", span=span, target="smile", queries=60, seed=4
    )
    stored = fleet.releases.root / f"{job.identity()}.npz"
    walks = []
    for _ in range(2):
        done = fleet.wait_for(fleet.send(job), "done")
        walked = get_arrays(fleet.releases, stored.name)
        assert done.data["samples"] == walked["asked"].sum() == sum(map(len, app.images))
        names = [request["idempotency-key"] for request in app.requests]
        assert len(set(names)) == len(names) > 10
        walks.append((names, [images.tolist() for images in app.images], walked["distances"].tolist()))
        stored.unlink()
        fleet.redis.flushall()
        app.requests.clear()
        app.images.clear()
    assert walks[0] == walks[1]


def test_walks_over_the_same_pictures_share_a_generator(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    where = {name: getattr(probe_job(url, 0, 1), name) for name in ("url", "account", "model", "artifact")}
    parameters = {"people": 2, "public": {"name": "synthfaces"}, "generator": {"epochs": 1}}
    drawn = []
    for seed in (0, 1):
        job = WalkJob(
            **where,
            policy=digest("none"),
            endpoint="softmax",
            span=Span(data=FACES, split="train", start=0, stop=100),
            attack="inversion",
            parameters=parameters,
            queries=70,
            seed=seed,
        )
        fleet.wait_for(fleet.send(job), "done")
        drawn.append(get_arrays(fleet.releases, f"{job.identity()}.npz")["pictures"])
    assert (drawn[0] != drawn[1]).any()
    assert 2 * 23 <= sum(map(len, app.images)) <= 2 * 70
    stored = [get_arrays(fleet.releases, each.name) for each in fleet.releases.root.glob("*.npz")]
    assert sum("layers.0.weight" in arrays for arrays in stored) == 1


def test_what_is_stored_is_reported_and_not_asked_again(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    job = probe_job(url, 0, 4)
    fleet.wait_for(fleet.send(job), "done")
    fleet.send(job)
    until(lambda: len(fleet.reports(job.identity())) == 3)
    assert fleet.states(job.identity()) == ["started", "done", "done"]
    assert fleet.reports(job.identity())[-1].data == {"reused": True}
    assert len(app.requests) == 1


def test_duplicates_leave_the_job_to_the_one_who_is_at_it(
    fleet: Fleet, worker: Worker, upstream: tuple[Upstream, str]
) -> None:
    app, url = upstream
    app.hold()
    job = probe_job(url, 0, 4)
    identity = fleet.send(job)
    app.wait_for_requests(1)
    for _ in range(2):
        fleet.deliver("probe", identity)
    until(lambda: worker.dropped(job.identity()) >= 2, 20, worker.log())
    app.release()
    fleet.wait_for(job.identity(), "done")
    fleet.wait_until_idle()
    assert app.answered == [job.identity()]
    assert fleet.states(job.identity()) == ["started", "done"]


def test_a_failed_job_is_not_run_again_by_a_late_delivery(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    app, url = upstream
    app.statuses = [429]
    job = probe_job(url, 0, 4)
    fleet.wait_for(fleet.send(job), "failed")
    fleet.deliver("probe", job.identity())
    fleet.wait_until_idle()
    fleet.end_of(fleet.send(probe_job(url, 4, 8)))  # sent later, done later
    assert len(app.requests) == 2
    fleet.send(job)  # asked for anew, it is tried anew
    fleet.wait_for(job.identity(), "done")


def test_a_server_that_is_down_for_a_moment_is_asked_again(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    app, url = upstream
    app.statuses = [503, 409, 502]
    job = probe_job(url, 0, 4)
    assert fleet.end_of(fleet.send(job)).state == "done"
    assert [request["idempotency-key"] for request in app.requests] == [job.identity()] * 4
    assert "failed" not in fleet.states(job.identity())


def test_a_postponed_job_keeps_its_order_until_it_ends(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    """Any message about it can then carry it out, whoever sends it again."""
    app, url = upstream
    app.statuses = [503]
    job = probe_job(url, 48, 52)
    order = ORDER.format(identity=job.identity())
    fleet.redis.set(order, Order(job=job).model_dump_json())
    fleet.deliver("probe", job.identity())
    told = fleet.wait_for(job.identity(), "postponed").data
    assert (told["seconds"], told["attempt"]) == (0.05, 1)  # no longer than was asked, and the setting says
    assert fleet.redis.exists(order)
    fleet.deliver("probe", job.identity())
    assert fleet.end_of(job.identity()).state == "done"
    assert not fleet.redis.exists(order)


def test_an_older_delivery_is_carried_out_as_the_newest_order_says(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    """The range has come back, and its proxy has another address."""
    app, url = upstream
    job = probe_job(url, 40, 44)
    app.hold()
    older = fleet.send(job.model_copy(update={"url": "http://127.0.0.1:9"}))
    fleet.wait_for(older, "postponed")
    fleet.redis.set(ORDER.format(identity=older), Order(job=job).model_dump_json())
    fleet.deliver("probe", older)
    app.wait_for_requests(1)
    app.release()
    assert fleet.end_of(older).state == "done"


def test_an_order_that_cannot_be_read_fails_the_job_and_says_why(
    fleet: Fleet, upstream: tuple[Upstream, str]
) -> None:
    """A controller of another version has sent it last."""
    app, url = upstream
    job = probe_job(url, 44, 48)
    newer = Order(job=job).model_dump_json().replace('"account"', '"on_behalf_of"')
    fleet.redis.set(ORDER.format(identity=job.identity()), newer)
    fleet.deliver("probe", job.identity())
    failed = fleet.end_of(job.identity())
    assert failed.state == "failed"
    assert "of another version" in failed.message
    assert "on_behalf_of" in failed.message
    assert not app.requests


@pytest.mark.parametrize("down", ["answers 503", "refuses connections"])
def test_a_server_that_stays_down_is_given_up(
    fleet: Fleet, upstream: tuple[Upstream, str], down: str
) -> None:
    app, url = upstream
    app.statuses = [503] * 9
    job = probe_job(url if down == "answers 503" else "http://127.0.0.1:9", 0, 4)
    failed = fleet.end_of(fleet.send(job))
    assert failed.state == "failed"
    assert f"(tried {RETRIES + 1} times)" in failed.message
    if down == "answers 503":
        assert "told to say 503" in failed.message
        assert len(app.requests) == RETRIES + 1
    assert not fleet.releases.exists(f"{job.identity()}.npy")


def test_an_exhausted_budget_fails_at_once(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    app.statuses = [429]
    failed = fleet.end_of(fleet.send(probe_job(url, 0, 4)))
    assert (failed.state, len(app.requests)) == ("failed", 1)
    assert "told to say 429" in failed.message
    assert failed.data["error"] == "budget-exhausted"


def test_a_span_beyond_its_split_is_refused(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    failed = fleet.end_of(fleet.send(probe_job(url, 0, 100_000)))
    assert failed.state == "failed"
    assert "'auxiliary'" in failed.message
    assert not app.requests


def test_a_cancelled_job_is_dropped(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    app, url = upstream
    job = probe_job(url, 0, 4)
    fleet.redis.set(ORDER.format(identity=job.identity()), Order(job=job).model_dump_json())
    fleet.redis.set(CANCEL.format(identity=job.identity()), "1")
    fleet.deliver("probe", job.identity())
    failed = fleet.end_of(job.identity())
    assert (failed.state, failed.message) == ("failed", "cancelled")
    assert not app.requests


def test_what_is_no_job_does_no_harm(fleet: Fleet, upstream: tuple[Upstream, str]) -> None:
    _, url = upstream
    fleet.deliver("probe", "an-identity")
    fleet.deliver("probe", {"kind": "probe", "url": 7})
    assert fleet.end_of(fleet.send(probe_job(url, 0, 4))).state == "done"
    fleet.wait_until_idle()


def test_a_fit_reads_the_hidden_attribute_from_releases_that_carry_it(fleet: Fleet, worker: Worker) -> None:
    """Three draws of each chunk, in which noise drowns what only their mean shows."""
    rng = np.random.default_rng(0)
    data = load(FACES)
    known = data.labels["smile"][data.where("auxiliary")[10:90]]
    hidden = rng.integers(0, 2, 60)
    noise = np.zeros((3, 140, 6))
    noise[:2] = rng.normal(size=(2, 140, 6)) * 5
    noise[2] = -noise[:2].sum(axis=0)
    draws = (np.concatenate([known, hidden])[:, None] * np.ones(6) + noise).astype(np.float32)
    chunks: list[list[str]] = []
    for start, stop in ((0, 50), (50, 80), (80, 140)):
        chunks.append([digest([start, draw]) for draw in range(3)])
        for identity, values in zip(chunks[-1], draws[:, start:stop], strict=True):
            put_array(fleet.releases, f"{identity}.npy", values)
    job = fit_job({"auxiliary": chunks[:2], "observed": chunks[2:]})
    done = fleet.end_of(fleet.send(job))
    assert done.state == "done", done
    found = get_arrays(fleet.releases, f"{job.identity()}.npz")
    assert found["scores"].shape == (60, 2)
    np.testing.assert_array_equal(found["predicted"], found["scores"].argmax(axis=1))
    assert (found["predicted"] == hidden).mean() > 0.95


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"attack": "atribute-inference"}, "did you mean 'attribute-inference'"),
        ({"evidence": {"sensitive": "height"}}, "no attribute 'height'"),
        ({"parameters": {"sensitive": "smile", "speed": 3}}, "speed"),
        ({"evidence": {"observed": [[digest("never stored")]]}}, "nothing is stored"),
        ({"evidence": {"observed": []}}, "cannot use the job's evidence: observed: "),
        ({"versions": {"attack": 99}}, "bring all parties to one version, and run the scenario again"),
    ],
)
def test_a_fit_that_cannot_be_done_says_why(
    fleet: Fleet, worker: Worker, change: dict[str, Any], told: str
) -> None:
    identity = digest("some releases")
    if not fleet.releases.exists(f"{identity}.npy"):
        put_array(fleet.releases, f"{identity}.npy", np.zeros((80, 6), np.float32))
    evidence = {"auxiliary": [[identity]], "observed": [[identity]], **change.get("evidence", {})}
    job = fit_job(evidence, **{key: value for key, value in change.items() if key != "evidence"})
    failed = fleet.end_of(fleet.send(job))
    assert failed.state == "failed"
    assert told in failed.message


class Told(AttributeAttack):
    """Guesses the class that its version names."""

    name = "told"
    Parameters = AttributeInference.Parameters

    def infer(self, evidence: Evidence) -> Inference:
        scores = np.eye(2, dtype=np.float32)[np.full(len(evidence.observed), self.version - 1)]
        return Inference(scores.argmax(axis=1), scores)


def test_a_fit_is_made_again_when_the_version_of_its_attack_is_raised(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the version before has stored stays what it was."""
    monkeypatch.setitem(attacks._entries, "told", Told)
    settings = FleetSettings(redis_url=redis_url, releases_dir=tmp_path)
    put_array(FolderStore(tmp_path), f"{digest('some releases')}.npy", np.zeros((80, 6), np.float32))
    evidence: dict[str, object] = {name: [[digest("some releases")]] for name in ("auxiliary", "observed")}
    jobs = []
    for version in (1, 2):
        monkeypatch.setattr(Told, "version", version)
        job = fit_job(evidence, attack="told")
        assert not fit.stored(settings, job.identity())
        fit.run(
            job, JobContext(settings, Reporter(redis.Redis.from_url(redis_url), "fit", "fit", "a worker"))
        )
        assert fit.stored(settings, fit_job(evidence, attack="told").identity())
        jobs.append(job)
    found = [get_arrays(FolderStore(tmp_path), f"{job.identity()}.npz")["predicted"] for job in jobs]
    assert [set(predicted.tolist()) for predicted in found] == [{0}, {1}]


def test_the_process_that_forks_workers_never_has_torch(fleet: Fleet, worker: Worker) -> None:
    """A fork of a process that has run a torch operation deadlocks."""
    until(lambda: any(has_torch(pid) for pid in children(worker.pid)), 5, "a fit was made")
    assert not has_torch(worker.pid)


def test_the_health_check_finds_the_worker(fleet: Fleet, worker: Worker) -> None:
    command = [sys.executable, "-m", "leakrange.services.attacker.healthcheck"]
    found = subprocess.run(command, env=fleet.environment(), capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    for url, told in (
        ("redis://127.0.0.1:9/0", "Redis does not answer"),
        (fleet.redis_url.rpartition("/")[0] + "/15", "no worker on"),
    ):
        nobody = fleet.environment(redis_url=url)
        missed = subprocess.run(command, env=nobody, capture_output=True, text=True)
        assert missed.returncode == 1
        assert told in missed.stderr
        assert "Traceback" not in missed.stderr


def test_no_log_holds_an_api_key(fleet: Fleet, worker: Worker) -> None:
    assert api_key(FLEET_SECRET, "an-account") not in worker.log()


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "verification"},
        {"endpoint": "logits", "pairs": [(0, 1)]},
        {"endpoint": "verification", "pairs": [(0, 4)]},
        {"endpoint": "verification", "pairs": [(-1, 0)]},
        {"endpoint": "verification", "pairs": []},
        {"endpoint": "verification", "pairs": [(0, 1)] * 257},
        {"endpoint": "gallery"},
        {"endpoint": "score"},
    ],
)
def test_probes_that_mean_nothing_cannot_be_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        probe_job("http://127.0.0.1:1", 0, 4, **wrong)


def test_identities_tell_questions_and_parties_apart_and_not_accounts_nor_places() -> None:
    job = probe_job("http://127.0.0.1:1", 0, 4)
    elsewhere = {"url": "http://127.0.0.1:2", "account": "another", "model": "another"}
    assert job.model_copy(update=elsewhere).identity() == job.identity()
    faces: dict[str, object] = {"endpoint": "verification"}
    asked = [
        job,
        job.model_copy(update={"by": "users"}),
        probe_job("http://127.0.0.1:1", 0, 4, endpoint="softmax"),
        probe_job("http://127.0.0.1:1", 0, 4, endpoint="recognition"),
        probe_job("http://127.0.0.1:1", 0, 4, **faces, pairs=[(0, 1), (1, 2)]),
        probe_job("http://127.0.0.1:1", 0, 4, **faces, pairs=[(1, 2), (0, 1)]),
    ]
    assert len({each.identity() for each in asked}) == len(asked)
    for each in asked:
        assert ProbeJob.model_validate(each.model_dump(mode="json")).identity() == each.identity()


def test_jobs_survive_the_wire() -> None:
    job = probe_job("http://127.0.0.1:1", 0, 4)
    assert ProbeJob.model_validate(job.model_dump(mode="json")).identity() == job.identity()
    assert JobReport.model_fields.keys() >= {"identity", "state", "data"}
