"""Imported sets come and go by name while a process runs, and broken ones harm no other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.data import datasets, load
from leakrange.data.importing import ColumnUse, import_set, remove_set
from leakrange.data.sets.imported import DESCRIPTION, SAMPLES
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.versions import Versions
from leakrange.registry import UnknownName
from leakrange.scenario.completion import complete
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.wire.errors import Conflict, DataUnavailable, InvalidInput, NotFound
from tests.data.tables import SCENARIO, customers, write_rows

USE = ColumnUse("exited", ("gender",))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def folder(root: Path) -> Path:
    """The folder of the imported set ``mine``."""
    import_set(write_rows(root / "customers.csv", customers(200)), "mine", USE)
    return root / "data" / "imported" / "mine"


def test_a_scenario_on_it_is_planned(folder: Path) -> None:
    assert len(expand(parse(SCENARIO.encode())).models) == 1


def test_the_editor_proposes_its_name_and_attributes(folder: Path) -> None:
    text = SCENARIO.replace("name: mine}", "name: mi}").replace("exited", "ex")
    lines = text.split("\n")
    assert "mine" in [each.label for each in complete(text, 3, len("data: {name: mi") + 1).proposals]
    text = SCENARIO.replace("exited", "ex")
    proposals = complete(text, 5, lines[4].index("ex}") + 3).proposals
    assert "exited" in [each.label for each in proposals]


def test_another_content_under_the_same_name_has_another_identity(folder: Path, root: Path) -> None:
    before, old = Versions.declared("mine", "mlp", "honest"), load(DataSpec(name="mine"))
    remove_set("mine")
    assert "mine" not in datasets
    import_set(write_rows(root / "customers.csv", customers(300)), "mine", USE)
    assert Versions.declared("mine", "mlp", "honest").data != before.data
    assert len(load(DataSpec(name="mine"))) == 300
    remove_set("mine")
    import_set(write_rows(root / "others.csv", customers(200)), "mine", USE)
    assert Versions.declared("mine", "mlp", "honest") == before
    assert load(DataSpec(name="mine")).fingerprint == old.fingerprint


def test_a_taken_name_is_refused(folder: Path, root: Path) -> None:
    with pytest.raises(Conflict, match="an imported data set 'mine' already"):
        import_set(root / "customers.csv", "mine", USE)
    with pytest.raises(Conflict, match="'digits' is a built-in data set"):
        import_set(root / "customers.csv", "digits", USE)
    for name in ("", "../mine", "Mine", ".mine", "a" * 80):
        with pytest.raises(InvalidInput, match="no name for a data set"):
            import_set(root / "customers.csv", name, USE)


def test_only_imported_sets_can_be_removed(folder: Path, root: Path) -> None:
    (root / "data" / "digits").mkdir()
    for name in ("digits", "none", "../imported/mine", ""):
        with pytest.raises(NotFound, match="no imported data set"):
            remove_set(name)
    assert (root / "data" / "digits").is_dir()
    (folder.parent / "linked").symlink_to(root)
    with pytest.raises(NotFound):
        remove_set("linked")
    assert (root / "customers.csv").exists()


def test_what_a_killed_import_left_is_deleted_by_a_later_one(folder: Path, root: Path) -> None:
    left, at_work = (folder.parent / f".unfinished-{name}" for name in ("left", "at-work"))
    for each in (left, at_work):
        (each / "mine").mkdir(parents=True)
    os.utime(left, (1_000_000_000, 1_000_000_000))
    import_set(root / "customers.csv", "other", USE)
    assert sorted(each.name for each in folder.parent.iterdir()) == [".unfinished-at-work", "mine", "other"]


def broken(folder: Path, change: str) -> None:
    path = folder / DESCRIPTION
    described = json.loads(path.read_text())
    if change == "gone":
        path.unlink()
    elif change == "cut":
        path.write_text(path.read_text()[:50])
    elif change == "renamed":
        path.write_text(json.dumps({**described, "name": "other"}))
    else:
        path.write_text(json.dumps({**described, "rows": "many"}))


@pytest.mark.parametrize("change", ["gone", "cut", "renamed", "mistyped"])
def test_a_broken_set_is_named_and_the_others_stand(folder: Path, root: Path, change: str) -> None:
    import_set(root / "customers.csv", "whole", USE)
    broken(folder, change)
    assert "whole" in datasets
    assert len(load(DataSpec(name="whole"))) == 200
    assert "mine" not in list(datasets)
    assert any("imported data set 'mine'" in why for why in datasets.broken)
    with pytest.raises(UnknownName, match="leakrange data remove mine"):
        datasets["mine"]
    remove_set("mine")
    assert not datasets.broken


def test_a_set_with_a_built_in_name_does_not_replace_it(folder: Path) -> None:
    folder.rename(folder.with_name("digits"))
    path = folder.with_name("digits") / DESCRIPTION
    path.write_text(path.read_text().replace('"name": "mine"', '"name": "digits"'))
    assert "parity" in datasets["digits"].attributes
    assert any("'digits': its name is taken" in why for why in datasets.broken)


@pytest.mark.parametrize("change", ["gone", "cut", "of another form"])
def test_broken_samples_are_told_when_they_are_loaded(folder: Path, change: str) -> None:
    path = folder / SAMPLES
    content = path.read_bytes()
    path.unlink()
    if change == "cut":
        path.write_bytes(content[:-200])
    if change == "of another form":
        np.savez(path, values=np.zeros((200, 7)), label_0=np.zeros(200, np.int64))
    with pytest.raises(DataUnavailable):
        load(DataSpec(name="mine"))
    assert "mine" in datasets


def test_without_a_folder_for_data_it_says_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    with pytest.raises(InvalidInput, match="LEAKRANGE_DATA") as refused:
        import_set(write_rows(tmp_path / "a.csv", customers()), "mine", USE)
    assert "export LEAKRANGE_DATA" in str(refused.value.hint)


@settings(max_examples=80)
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode) | st.just(b'{"format": 1}'))
def test_no_description_breaks_the_list(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    place = tmp_path_factory.mktemp("data")
    (place / "imported" / "mine").mkdir(parents=True)
    (place / "imported" / "mine" / DESCRIPTION).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(place))
        assert "digits" in list(datasets)
        assert [why for why in datasets.broken if "'mine'" in why]
