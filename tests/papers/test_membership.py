"""The rows of LiRA and RMIA, and whether the order of the attacks is read from the cells."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.papers import papers
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.membership.paper import MembershipInference, MembershipInferenceSettings
from leakrange.papers.trials import batches
from leakrange.scenario.language import parse
from tests.papers.tried import tried_by

PAPER = MembershipInference(MembershipInferenceSettings())


def attack(selected: str, **settings: Any) -> dict[str, Any]:
    paper = MembershipInference(MembershipInferenceSettings.model_validate(settings))
    [row] = paper.select([selected])
    return paper.trial(row, 0).attack


def test_every_row_is_a_trial_of_a_sound_scenario_and_shadows_are_shared() -> None:
    assert papers["membership"] is MembershipInference
    planned = batches(PAPER.wanted(PAPER.rows(), 2))
    assert len(planned) == 4  # two sets, two targets each
    for batch in planned:
        found = parse(batch.scenario("membership"))
        assert tried_by(found) == set(batch.trials)
        assert len(found.providers) == 1  # whose shadows all attacks share, and all seeds
    assert sorted({batch.first.data["name"] for batch in planned}) == ["cifar10", "fashion_mnist"]


def test_a_tenth_of_a_percent_is_ten_others() -> None:
    pool = PAPER.trial(PAPER.rows()[0], 0).data["subset"]["pool"]
    assert 0.001 * pool / 2 == 10


def test_a_figure_is_the_printed_one() -> None:
    [loss] = PAPER.select(["cifar10:attack=loss-threshold"])
    assert (loss.figures["tpr_at_0001"].mean, loss.figures["balanced_accuracy"].mean) == (0.0, 59.4)
    [offline, online] = PAPER.select(["cifar10:attack=lira,shadows=64"])
    assert (offline["mode"], offline.figures["tpr_at_0001"].mean) == ("offline", 4.7)
    assert (online["mode"], online.figures["tpr_at_0001"].mean) == ("online", 5.6)
    assert not any(row.figures for row in PAPER.rows() if row["attack"] == "rmia")


def test_settings_reach_the_attacks() -> None:
    assert attack("cifar10:attack=loss-threshold") == {"kind": "loss-threshold"}
    assert attack("cifar10:attack=rmia,mode=online,shadows=8") == {
        "kind": "rmia", "mode": "online", "shadows": 8, "population": 2000
    }  # fmt: skip
    assert attack("cifar10-settings:a=1,shadows=2", population=77) == {
        "kind": "rmia", "shadows": 2, "population": 77, "a": 1.0
    }  # fmt: skip
    assert attack("fashion_mnist-settings:variance=record,mode=offline")["variance"] == "record"


LOSS, LIRA = "attack=loss-threshold", "attack=lira,mode=offline,shadows=2"
RMIA, ONLINE = "attack=rmia,mode=offline,shadows=2", "attack=rmia,mode=online,shadows=2"


@pytest.fixture
def store(tmp_path: Any) -> Cells:
    return Cells(tmp_path)


def claimed(store: Cells, aucs: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    """The comparisons of the page of the CIFAR-10 rows that are measured, by claim: rows, margin and outcome.
    ``aucs`` has one AUC for each target; TPR at 1 % is a tenth of it."""
    rows = []
    for selected, values in aucs.items():
        [row] = PAPER.select([f"cifar10:{selected}"])
        rows.append(row)
        for seed, value in enumerate(values):
            cell: Cell = {"auc": value, "tpr_at_001": value / 10, "honesty": 0.5}
            store.put(PAPER.cell(PAPER.trial(row, seed)), cell)
    found: dict[str, list[list[str]]] = {}
    for section in PAPER.document(rows, 3, store, "leakrange").sections:
        if section.title == "Each comparison":
            for line in section.lines:
                found.setdefault(line.labels[0], []).append([line.labels[2], line.notes[2], line.notes[-1]])
    return found


def test_claims_are_held_against_the_cells(store: Cells) -> None:
    found = claimed(
        store,
        {
            LOSS: [0.5, 0.51, 0.52],
            LIRA: [0.6, 0.611, 0.621],
            RMIA: [0.8, 0.81, 0.821],
            ONLINE: [0.7, 0.8, 0.9],
        },
    )
    [[rows, margin, outcome]] = found["RMIA offline is ahead of LiRA offline: AUC"]
    assert (rows, outcome) == ("2", "holds")
    assert margin.startswith("+19.97 (+19.8")
    [[_, margin, outcome]] = found["RMIA online is ahead of RMIA offline: AUC"]
    assert margin.startswith("-1.03 (-23.")
    assert outcome == "unclear"
    last = found["the loss threshold is last: TPR at 1 % FPR"]
    assert [(rows, outcome) for rows, _, outcome in last] == [
        ("lira, offline, 2", "holds"), ("rmia, offline, 2", "holds"), ("rmia, online, 2", "unclear")
    ]  # fmt: skip
    # No cell has a TPR at 0.1 %, and the papers do not say that the loss threshold has the lowest AUC.
    assert not {"the loss threshold is last: TPR at 0.1 % FPR", "the loss threshold is last: AUC"} & set(
        found
    )


def test_no_claim_is_made_of_what_is_not_measured(store: Cells) -> None:
    assert claimed(store, {LOSS: [0.6]}) == {}
    assert set(claimed(store, {LOSS: [0.6], LIRA: [0.7]})) == {"the loss threshold is last: TPR at 1 % FPR"}


def test_shadows_at_other_settings_decide_no_claim(store: Cells) -> None:
    [unusual] = PAPER.select(["cifar10-settings:a=1,shadows=2"])
    store.put(PAPER.cell(PAPER.trial(unusual, 0)), {"auc": 0.1, "tpr_at_001": 0.1, "honesty": 0.5})
    document = PAPER.document([unusual], 1, store, "leakrange")
    assert [section.title for section in document.sections] == [PAPER.sheet.tables["cifar10-settings"].title]
