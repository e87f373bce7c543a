"""A worker that obfuscates with what was trained for it. The first job of its life is such a one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leakrange.data import load
from leakrange.defences.artifact import load as load_artifact
from leakrange.defences.artifact import save
from leakrange.defences.chain import DefenceChain
from leakrange.defences.training import train_defence
from leakrange.jobs.steps.probe import ProbeJob
from tests.attacker.fleet import FACES, Fleet, fleet_on, probe_job
from tests.attacker.upstream import Upstream
from tests.serving import serving


@pytest.fixture(scope="module")
def fleet(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_on(redis_url, 1, tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.ready(fleet.start(concurrency=1, retries=3, retry_pause=0.05))
        yield fleet


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    app = Upstream()
    with serving(app) as url:
        yield app, url


@dataclass(frozen=True)
class Trained:
    """A PASS for faces, trained for a moment: its chain, its file, and the substitutes that it draws."""

    chain: list[dict[str, Any]]
    digest: str
    file: bytes
    substitutes: set[bytes]

    @property
    def path(self) -> str:
        return f"/v1/obfuscators/{self.digest}"

    def job(self, url: str, sha256: str) -> ProbeJob:
        files = {self.digest: sha256}
        return probe_job(url, 5, 25, endpoint="sample", defence=self.chain, obfuscators=files)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    link = {"private": "glasses", "useful": "smile", "width": 0.1, "epochs": 1, "batch": 64}
    link |= {"substitutes": 24, "embedding": 8, "temperature": 0.5}
    planned, (recipe,) = DefenceChain.parse([{"pass": link}]).planned(FACES, seed=0)
    folder: Path = save(tmp_path_factory.mktemp("models"), train_defence(recipe, load(FACES)))
    substitutes = load_artifact(folder).module.get_buffer("substitutes").numpy()
    content = (folder / "defence.safetensors").read_bytes()
    return Trained(planned.spec(), folder.name, content, {each.tobytes() for each in substitutes})


def test_a_file_other_than_ordered_is_reported_and_nothing_is_sent(
    fleet: Fleet, upstream: tuple[Upstream, str], trained: Trained
) -> None:
    app, url = upstream
    ordered = hashlib.sha256(trained.file).hexdigest()
    app.files[trained.path] = trained.file[:-1] + bytes([trained.file[-1] ^ 1])
    found = hashlib.sha256(app.files[trained.path]).hexdigest()
    failed = fleet.end_of(fleet.send(trained.job(url, ordered)))
    assert failed.state == "failed"
    assert failed.data.get("error") == "invalid-artifact", failed.message
    assert f"obfuscator {trained.digest[:12]} is not the one that was trained" in failed.message
    assert f"SHA-256 {found}, not {ordered}" in failed.message
    assert app.fetched == [trained.path]  # nor does it help to ask again
    assert not app.requests
    assert not fleet.releases.exists(f"{failed.identity}.npy")


def test_substitutes_are_sent_once_the_file_is_the_ordered_one(
    fleet: Fleet, upstream: tuple[Upstream, str], trained: Trained
) -> None:
    app, url = upstream
    app.files[trained.path] = trained.file
    job = trained.job(url, hashlib.sha256(trained.file).hexdigest())
    done = fleet.end_of(fleet.send(job))
    assert done.state == "done", done.message
    (sent,) = app.images
    assert len(sent) == 20
    assert {each.tobytes() for each in sent} <= trained.substitutes
    assert fleet.releases.exists(f"{job.identity()}.npy")
