"""A range is backed up while it works, and stands up elsewhere from the backup alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

from leakrange.clients.cli.embedded.backup import copy_objects
from leakrange.store.files import FolderStore, get_array, put_array
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, rounded, scenario


@dataclass
class Backup:
    """A backup in ``folder``, made while the run ``begun`` was under way; ``key`` is a partner's."""

    folder: Path
    begun: str
    id: str
    key: str


@pytest.fixture(scope="module")
def backup(
    embedded_range: EmbeddedRange,
    controller: Controller,
    first: Finished,
    tmp_path_factory: pytest.TempPathFactory,
) -> Backup:
    folder = tmp_path_factory.mktemp("backup") / "copy"
    key = json.loads(embedded_range("keys", "create", "partner", "--budget", "50", "--json").stdout)
    begun = controller.start(scenario("begun", defences=rounded(2)))
    made = embedded_range("backup", str(folder))
    assert made.returncode == 0, made.stderr
    assert "keep it where nobody else reads it" in made.stderr
    assert folder.stat().st_mode & 0o077 == 0
    controller.finished(begun)
    return Backup(folder, begun, key["id"], key["key"])


def test_a_range_that_was_backed_up_at_work_goes_on_elsewhere(
    backup: Backup, first: Finished, tmp_path: Path
) -> None:
    place = EmbeddedRange(tmp_path / "range")
    restored = place("restore", str(backup.folder))
    assert restored.returncode == 0, restored.stderr
    assert "have no samples left" in restored.stderr
    assert backup.id in restored.stderr
    place.up()
    elsewhere = Controller(place)
    try:
        assert elsewhere.ask("GET", f"/v1/runs/{first.id}/results").json() == first.results
        assert elsewhere.ask("GET", f"/v1/runs/{first.id}/report").status_code == 200
        begun = elsewhere.finished(backup.begun)
        # what was answered while the backup was made may be unpaid in it
        for entry in begun.results["ledger"]:
            assert entry["spent"] <= entry["distinct"] <= entry["budget"], entry
            entry["spent"] = entry["distinct"]
        begun.check(2)
        account = json.loads(place("keys", "show", backup.id, "--json").stdout)
        assert (account["budget"], account["spent"]) == (0, 0)
        assert place("keys", "put", backup.id, "--budget", "30").returncode == 0
        asked = httpx.get(
            f"{place.record.proxy}/v1/models", headers={"Authorization": f"Bearer {backup.key}"}
        )
        assert asked.status_code == 200
        models = set(place.folder.models.iterdir())
        elsewhere.run(scenario("later", defences=rounded(3))).check(2)
        assert set(place.folder.models.iterdir()) == models, "a stored model was trained again"
    finally:
        elsewhere.client.close()
        place.down()


def test_what_is_packed_while_it_is_copied_is_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path / "store")
    names = [f"{number:064x}" for number in range(20)]
    for number, name in enumerate(names):
        put_array(store, f"{name}.npy", np.full(3, number))
    copyfile = shutil.copyfile

    def packed_first(file: str, to: str) -> None:
        store.pack(names)
        copyfile(file, to)

    monkeypatch.setattr(shutil, "copyfile", packed_first)
    copy_objects(store.root, tmp_path / "copy")
    copied = FolderStore(tmp_path / "copy")
    assert [get_array(copied, f"{name}.npy")[0] for name in names] == list(range(20))


def test_what_is_no_backup_or_is_in_the_way_is_refused_and_nothing_is_left(
    embedded_range: EmbeddedRange, backup: Backup, tmp_path: Path
) -> None:
    again = embedded_range("backup", str(backup.folder))
    assert again.returncode == 2
    assert "is there already" in again.stderr
    nowhere = EmbeddedRange(tmp_path / "new")
    empty = nowhere("restore", str(tmp_path))
    assert empty.returncode == 2
    assert "is no whole backup" in empty.stderr
    database = backup.folder / "leakrange.db"
    whole = database.read_bytes()
    database.write_bytes(whole[:4096] + b"x" * 4096 + whole[8192:])
    refused = nowhere("restore", str(backup.folder))
    database.write_bytes(whole)
    assert refused.returncode == 1
    assert "is damaged" in refused.stderr
    assert list(tmp_path.iterdir()) == []
    assert nowhere("backup", str(tmp_path / "copy")).returncode == 3
