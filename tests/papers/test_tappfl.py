"""The rows of TAPPFL: all that were printed, as trials that a range can run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leakrange.papers import papers
from leakrange.papers.cells import Cells
from leakrange.papers.representation.paper import RepresentationLearning, RepresentationSettings
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import batches
from leakrange.report.document import markdown
from leakrange.scenario.language import parse
from tests.papers.tried import tried_by

PAPER = RepresentationLearning(RepresentationSettings())


def one(selected: str) -> PaperRow:
    [row] = RepresentationLearning.select([selected])
    return row


def defence(selected: str, **settings: Any) -> tuple[str, dict[str, Any]]:
    paper = RepresentationLearning(RepresentationSettings.model_validate(settings))
    [link] = paper.trial(one(selected), 0).defence
    [(name, parameters)] = link.items()
    return name, parameters


def test_it_is_registered_with_every_row() -> None:
    assert papers["tappfl"] is RepresentationLearning
    rows = Counter(row.table for row in RepresentationLearning.rows() if row.figures)
    assert rows == {"2": 20, "tasks": 3, "decensoring": 4}


def test_a_figure_is_the_printed_one() -> None:
    row = one("2:set=adult,private=marital,level=0.5")
    assert (row.figures["honesty"].mean, row.figures["curiosity"].mean) == (80.0, 25.0)
    row = one("2:set=cifar10,level=0.25")
    assert (row.figures["honesty"].mean, row.figures["local_curiosity"].mean) == (88.0, 64.0)


def test_every_row_is_a_trial_of_a_sound_scenario() -> None:
    wanted = PAPER.wanted(RepresentationLearning.rows(), 1)
    planned = batches(wanted)
    assert sum(len(batch.trials) for batch in planned) == len(wanted)
    for batch in planned:
        assert tried_by(parse(batch.scenario("tappfl"))) == set(batch.trials)


def test_the_paper_states_these_settings() -> None:
    name, table = defence("2:set=adult,private=gender,level=0.25")
    assert (name, table["strength"], table["lr"], table["batch"]) == ("tappfl", 0.25, 0.01, 10)
    assert (table["critics"], table["federation"]["rounds"], table["federation"]["local_epochs"]) == (
        "paper",
        20,
        10,
    )
    _, picture = defence("2:set=cifar10,level=1", picture_rounds=7)
    assert (picture["net"], picture["federation"]["rounds"]) == ("tappfl-conv", 7)


def test_only_task_specific_defences_know_the_task() -> None:
    assert defence("tasks:set=loans,method=AT,level=0.5")[1]["useful"] == "high-priced"
    assert "useful" not in defence("tasks:set=loans,method=TAPPFL")[1]
    assert defence("fig4:method=MC,level=0.9")[1]["amount"] == 0.9
    assert defence("fig4:method=DP-Laplace,level=0.0002")[1]["noise"] == 0.0002


def test_a_stand_in_has_its_own_names() -> None:
    trial = PAPER.trial(one("2:set=loans,level=0.5"), 0)
    assert (trial.provider["target"], trial.attack["sensitive"]) == ("high-priced", "race-2")
    own = RepresentationLearning(RepresentationSettings(loans="loans")).trial(one("2:set=loans,level=0"), 0)
    assert (own.provider["target"], own.attack["sensitive"]) == ("affordability", "race")


def test_de_censoring_reads_what_the_other_attacker_reads() -> None:
    direct, other = (
        PAPER.trial(one(f"decensoring:set=loans,level=1,attack={kind}"), 0)
        for kind in ("direct", "de-censoring")
    )
    assert direct.defence == other.defence
    assert (direct.attack["kind"], other.attack["kind"]) == ("attribute-inference", "de-censoring")


def test_the_page_tells_both_adversaries_and_what_they_stand_against(tmp_path: Path) -> None:
    row, cells = one("2:set=adult,private=gender,level=0.75"), Cells(tmp_path)
    cell = {
        "honesty": 0.815,
        "curiosity": 0.71,
        "auc": 0.7312,
        "local_curiosity": 0.66,
        "majority": 0.67,
        "majority_target": 0.75,
        "nag": 0.125,
        "local_nag": 0.0,
        "advantage": 0.2,
        "accuracy_bound": 0.74,
        "loose_accuracy_bound": 0.84,
        "adversary_cross_entropy": 0.6,
        "kept_loss": 0.3,
    }
    cells.put(PAPER.cell(PAPER.trial(row, 0)), cell)
    page = markdown(PAPER.document([row], 1, cells, "x"))
    assert "| 72.5 | 81.5 | +9.0 | 55.0 | 71.0 | +16.0 | 55.0 | 66.0 | +11.0 |" in page
    assert "| 73.1 | 67.0, 75.0 | 12.5, 0.0 | 20.0 | 74.0, 84.0 | – | 1 |" in page


@pytest.mark.parametrize(
    ("hidden", "outcome"),
    [
        ((0.64, 0.63, 0.65), "does not hold"),
        ((0.58, 0.57, 0.59), "holds"),
        ((0.61, 0.56, 0.62), "unclear"),
    ],
    ids=["tells more", "tells less", "either"],
)
def test_what_is_said_of_a_fresh_attacker_follows_from_its_auc(
    hidden: tuple[float, ...], outcome: str, tmp_path: Path
) -> None:
    rows, cells = [one(f"2:set=adult,private=gender,level={level}") for level in (0, 0.75)], Cells(tmp_path)
    for row, areas in zip(rows, ((0.611, 0.6, 0.62), hidden), strict=True):
        for seed, area in enumerate(areas):
            cells.put(PAPER.cell(PAPER.trial(row, seed)), {"honesty": 0.8, "majority": 0.67, "auc": area})
    page = markdown(PAPER.document(rows, 3, cells, "x"))
    mean = f"{100 * sum(hidden) / 3:.1f}"
    assert f"| {mean} (" in page
    [line] = [line for line in page.splitlines() if line.startswith("| λ of .75 hides") and "adult" in line]
    assert "fresh attacker, by AUC" in line
    assert "61.0" in line
    assert mean in line
    assert line.endswith(f"| {outcome} |")


def test_a_rival_is_held_against_the_level_that_the_paper_compares(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    areas = {"TAPPFL": (0.70, 0.711, 0.719), "DPFE": (0.60, 0.61, 0.62), "AT": (0.74, 0.75, 0.76)}
    rows = [
        one(f"tasks:set=adult,method={name},level={level}")
        for name, level in zip(areas, (0.75, 0.5, 0.5), strict=True)
    ]
    for row in rows:
        for seed, area in enumerate(areas[row["method"]]):
            cells.put(PAPER.cell(PAPER.trial(row, seed)), {"auc": area, "honesty": area})
    lines = markdown(PAPER.document(rows, 3, cells, "x")).splitlines()
    said = {line.split(" | ")[0]: line.rpartition(" | ")[2] for line in lines if "tasks |" in line}
    assert said == {
        "| DPFE tells a fresh attacker more than λ of .75, by AUC": "does not hold |",
        "| AT keeps more accuracy than λ of .75": "holds |",
    }


def test_all_devices_train_but_in_the_table_of_the_others() -> None:
    settings: dict[str, Any] = {"devices": 20, "share": 0.5}
    _, own = defence("2:set=adult,private=gender,level=0.5", **settings)
    _, other = defence("chosen:set=adult,private=gender,level=0.5", **settings)
    assert (own["federation"]["devices"], own["federation"]["share"]) == (20, 0.5)
    assert "participation" not in own["federation"]
    assert other["federation"] == {**own["federation"], "participation": "chosen"}


@pytest.mark.parametrize("limit", [None, 500])
def test_a_limit_is_of_the_loans_alone(limit: int | None) -> None:
    paper = RepresentationLearning(RepresentationSettings(loans_limit=limit))
    assert ("limit" in paper.trial(one("2:set=loans,level=0"), 0).data) == (limit is not None)
    assert "limit" not in paper.trial(one("2:set=cifar10,level=0"), 0).data
