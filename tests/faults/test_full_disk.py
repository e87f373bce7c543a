"""A fleet whose disk is full: jobs say so, nothing half-written stays, and nothing is paid twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from leakrange.data import load
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.jobs.steps.train import TrainJob
from leakrange.providers.artifact_files import find_whole
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.store.files import FolderStore, get_array, get_arrays
from leakrange.wire.keys import api_key
from tests.attacker.fleet import FACES, FLEET_SECRET, Fleet, fleet_on, probe_job
from tests.attacker.test_training import train_job
from tests.attacker.upstream import Upstream, answers
from tests.disks import fill, small_disk
from tests.faults.test_memory import fit_job
from tests.proxy.conftest import OPERATOR
from tests.serving import serving


@pytest.fixture
def fleet(redis_url: str, tmp_path: Path) -> Iterator[Fleet]:
    with small_disk(tmp_path / "disk", 8) as disk, fleet_on(redis_url, 5, tmp_path) as fleet:
        fleet.releases, fleet.models = FolderStore(disk / "releases"), FolderStore(disk / "models")
        yield fleet


def left(fleet: Fleet) -> list[str]:
    """All files on the disk, hidden ones too."""
    root = fleet.releases.root.parent
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def no_room(fleet: Fleet, job: ProbeJob | FitJob | TrainJob, folder: Path) -> None:
    """The job fails for want of room there, and leaves nothing behind; then there is room."""
    before = left(fleet)
    filler = fill(fleet.releases.root.parent)
    failed = fleet.end_of(fleet.send(job))
    assert failed.state == "failed"
    assert f"the disk is full: nothing more can be written to {folder}" in failed.message
    filler.unlink()
    assert left(fleet) == before
    fleet.redis.delete("leakrange:reports")  # so that `end_of` waits for the next end of this job


def test_a_chunk_without_room_is_paid_once_and_kept_when_there_is_room(fleet: Fleet) -> None:
    app = Upstream()
    told = ProxySettings(redis_url=fleet.redis_url, operator_key=OPERATOR)
    with serving(app) as upstream, serving(proxy(told)) as url, httpx.Client(timeout=20) as client:
        client.headers["Authorization"] = f"Bearer {OPERATOR}"
        client.put(f"{url}/admin/routes/digits", json={"upstream": upstream}).raise_for_status()
        key = {"name": "attacker", "id": "attacker", "key": api_key(FLEET_SECRET, "attacker"), "budget": 30}
        client.post(f"{url}/admin/keys", json=key).raise_for_status()
        fleet.ready(fleet.start("probe", 1))
        job = probe_job(url, 0, 30, account="attacker")
        no_room(fleet, job, fleet.releases.root)
        assert fleet.end_of(fleet.send(job)).state == "done"
        data = load(FACES)
        expected = answers(data.values[data.where("auxiliary")[:30]])
        np.testing.assert_array_equal(get_array(fleet.releases, f"{job.identity()}.npy"), expected)
        assert len(app.answered) == 1
        assert client.get(f"{url}/admin/keys/attacker").json()["spent"] == 30


def test_a_fit_without_room_is_made_when_there_is_room(fleet: Fleet) -> None:
    fleet.ready(fleet.start("fit", 1))
    job = fit_job(fleet, 2, 6)
    no_room(fleet, job, fleet.releases.root)
    assert fleet.end_of(fleet.send(job)).state == "done"
    assert len(get_arrays(fleet.releases, f"{job.identity()}.npz")["predicted"]) == 70


def test_a_model_without_room_is_whole_when_there_is_room(fleet: Fleet) -> None:
    fleet.ready(fleet.start("train", 1, train_device="cpu"))
    job = train_job(1)
    no_room(fleet, job, fleet.models.root)
    assert find_whole(fleet.models.root, job.identity(), fleet.models.damaged) is None
    assert fleet.end_of(fleet.send(job)).state == "done"
    assert find_whole(fleet.models.root, job.identity(), fleet.models.damaged) is not None
