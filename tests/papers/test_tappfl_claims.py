"""What TAPPFL claims, measured on Adult by a range, and what an attacker makes of it who learns anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leakrange.papers.cells import Cells
from leakrange.papers.representation.paper import RepresentationLearning, RepresentationSettings
from tests.embedded import leakrange

BESIDE = Path(__file__).parents[3] / "shared" / "data"
SETTINGS = {
    "critics": "small",
    "lr": 0.1,
    "devices": 20,
    "share": 0.5,
    "rounds": 10,
    "pretraining": 2,
    "local_epochs": 1,
}


@pytest.mark.slow
def test_devices_own_adversaries_are_defeated_and_new_ones_are_not(tmp_path: Path) -> None:
    """Table 2, Adult, gender private, where no device's adversary is out of date."""
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    if not (root / "adult").is_dir():
        pytest.skip("real data set adult is not here: set LEAKRANGE_DATA to the folder that has adult/")
    chosen = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    table = "2:set=adult,private=gender,level=0|0.75,method=TAPPFL"
    options = ["--table", table, "--seeds", "1", "--store", str(tmp_path), *chosen]
    done = leakrange("reproduce", "tappfl", *options, LEAKRANGE_DATA=str(root))
    assert done.returncode == 0, done.stderr
    paper = RepresentationLearning(RepresentationSettings.model_validate(SETTINGS))
    found = {
        row.number("level"): Cells(tmp_path).get(paper.cell(paper.trial(row, 0)))
        for row in paper.select([table])
    }
    kept, hidden = found[0.0], found[0.75]
    assert kept is not None
    assert hidden is not None
    assert min(kept["honesty"], hidden["honesty"]) > 0.8
    assert kept["local_nag"] > 0.1
    assert hidden["local_nag"] < 0.03
    assert hidden["curiosity"] > hidden["local_curiosity"] + 0.02
    assert hidden["nag"] > 0.08
    assert hidden["auc"] > 0.7
    for cell in (kept, hidden):
        assert cell["curiosity"] < cell["accuracy_bound"] < cell["loose_accuracy_bound"]
