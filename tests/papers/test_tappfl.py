"""The rows of TAPPFL: all that were printed, as trials that a range can run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leakrange.papers import papers
from leakrange.papers.cells import Cells
from leakrange.papers.representation.paper import RepresentationLearning, RepresentationSettings
from leakrange.papers.targets import Row
from leakrange.papers.trials import batches
from leakrange.report.document import markdown
from leakrange.scenario.language import parse
from tests.papers.tried import tried_by

PAPER = RepresentationLearning(RepresentationSettings())


def one(selected: str) -> Row:
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
    assert "| 67.0, 75.0 | 12.5, 0.0 | 20.0 | 74.0, 84.0 | – | 1 |" in page


@pytest.mark.parametrize("limit", [None, 500])
def test_a_limit_is_of_the_loans_alone(limit: int | None) -> None:
    paper = RepresentationLearning(RepresentationSettings(loans_limit=limit))
    assert ("limit" in paper.trial(one("2:set=loans,level=0"), 0).data) == (limit is not None)
    assert "limit" not in paper.trial(one("2:set=cifar10,level=0"), 0).data
