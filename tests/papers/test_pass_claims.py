"""What PASS claims, measured on spoken digits by a range."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leakrange.papers.cells import Cells
from leakrange.papers.substitution.paper import StochasticSubstitution, SubstitutionSettings
from tests.embedded import leakrange

BESIDE = Path(__file__).parents[3] / "shared" / "data"
SETTINGS = {
    "speech_epochs": 60,
    "speech_rival_epochs": 15,
    "probing_epochs": 10,
    "lr": 3e-3,
    "rival_lr": 2e-3,
}


@pytest.mark.slow
def test_a_new_attacker_finds_what_the_protectors_does_not_and_nothing_in_substitutes(tmp_path: Path) -> None:
    """The accent of the speaker is private, the digit useful (Tables 1 and 2)."""
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    if not (root / "fsdd" / "fsdd.npz").is_file():
        pytest.skip("real data set fsdd is not here: set LEAKRANGE_DATA to the folder that has fsdd/")
    chosen = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    table = "2:method=PASS|ADV"
    options = ["--table", table, "--seeds", "1", "--store", str(tmp_path), *chosen]
    done = leakrange("reproduce", "pass", *options, LEAKRANGE_DATA=str(root))
    assert done.returncode == 0, done.stderr
    paper = StochasticSubstitution(SubstitutionSettings.model_validate(SETTINGS))
    found = {
        row["method"]: Cells(tmp_path).get(paper.cell(paper.trial(row, 0))) for row in paper.select([table])
    }
    substitutes, rival = found["PASS"], found["ADV"]
    assert substitutes is not None
    assert rival is not None
    assert substitutes["nag accent"] < 0.05
    assert substitutes["nag digit"] > 0.85
    assert substitutes["unfinetuned_nag digit"] > 0.85
    assert substitutes["mnag"] > rival["mnag"] + 0.3
    assert rival["nag accent"] > rival["protector_nag accent"] + 0.2
