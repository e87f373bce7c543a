"""Scenarios whose data is not on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.missing import missing_data
from leakrange.wire.errors import InvalidScenario

TEXT = """\
name: faces
data:
  drawn: digits
  faces: {name: utkface}
providers:
  one: {data: faces, target: gender, sensitive: race-2}
  two: {data: drawn, target: parity, sensitive: slant}
attacks:
  outside: {kind: attribute-inference}
"""


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data sets, empty as yet, on a machine that may download nothing."""
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    monkeypatch.setenv("LEAKRANGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


def test_only_a_scenario_that_is_to_run_here_needs_its_data(nothing: Path) -> None:
    assert parse(TEXT).name == "faces"
    with pytest.raises(InvalidScenario) as caught:
        parse(TEXT, here=True)
    [mistake] = caught.value.extra["mistakes"]
    assert (mistake["line"], mistake["path"]) == (4, "data.faces.name")
    assert "the data set 'utkface' is not here" in mistake["message"]
    assert "utkface/utkface.npz" in mistake["message"]
    assert "leakrange data list" in mistake["message"]
    (nothing / "utkface").mkdir()
    np.savez(nothing / "utkface" / "utkface.npz", anything=np.zeros(1))
    assert parse(TEXT, here=True).name == "faces"


def test_what_can_be_downloaded_in_its_place_is_named(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(missing_data(["utkface", "digits", "no-such-set", "utkface"])) == {"utkface"}
    assert "write hub-utkface" not in missing_data(["utkface"])["utkface"]
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert "write hub-utkface, which is downloaded" in missing_data(["utkface"])["utkface"]
    assert "write" not in missing_data(["lfw"])["lfw"]
