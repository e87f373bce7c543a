"""Real workers whose models and releases lie on S3: others find what they store, and a server that is away
for a while costs only time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from leakrange.store.buckets import BucketStore
from leakrange.store.files import get_array
from leakrange.store.folders import whole_folder
from tests.attacker.fleet import Fleet, fleet_on, probe_job
from tests.attacker.test_training import train_job
from tests.attacker.upstream import Upstream
from tests.patience import until
from tests.serving import serving
from tests.store.s3 import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server("nanio", tmp_path_factory.mktemp("s3"))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def fleet(redis_url: str, server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    with pytest.MonkeyPatch.context() as patch, fleet_on(redis_url, 4, folder) as fleet:
        for name, value in (server.environment() | {"LEAKRANGE_CACHE": str(folder / "cache")}).items():
            patch.setenv(name, value)
        places = {"models_dir": "s3://leak/models", "releases_dir": "s3://leak/releases"}
        for queue in ("probe", "train"):
            fleet.start(queue, 1, train_device="cpu", **places)
        for worker in fleet.workers:
            fleet.ready(worker)
        yield fleet


def test_a_chunk_is_stored_once_the_server_is_back(fleet: Fleet, server: S3Server) -> None:
    app = Upstream()
    with serving(app) as url:
        first, second = probe_job(url, 0, 30), probe_job(url, 30, 40)
        assert fleet.heard(fleet.send(first)).state == "done"
        app.hold()
        identity = fleet.send(second)
        app.wait_for_requests(2)
        server.kill()
        app.release()  # the worker has the answers now, and nowhere to put them
        until(lambda: len(app.answered) == 2, 30)
        server.start()
        assert fleet.heard(identity).state == "done"
        keys = [each["idempotency-key"] for each in app.requests]
        assert set(keys) == {first.identity(), identity}  # what is asked again is paid once
    releases = BucketStore("leak", "releases")
    assert get_array(releases, f"{first.identity()}.npy").shape[0] == 30
    assert get_array(releases, f"{identity}.npy").dtype == np.float32


def test_a_model_is_found_by_who_did_not_train_it(fleet: Fleet, tmp_path: Path) -> None:
    job = train_job()
    assert fleet.heard(fleet.send(job)).state == "done"
    elsewhere = BucketStore("leak", "models")
    elsewhere.local = tmp_path / "another machine"
    folder = whole_folder(elsewhere, job.identity())
    assert folder is not None
    assert folder.parent == elsewhere.local
    assert fleet.heard(fleet.send(job)).data["reused"]
