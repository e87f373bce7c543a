"""The rows of Vicious Classifiers: all that were printed, as trials that a range can run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leakrange.papers import papers
from leakrange.papers.cells import Cells
from leakrange.papers.trials import PaperTrial, batches
from leakrange.papers.vicious.paper import ViciousClassifiers, ViciousSettings
from leakrange.report.document import markdown, pictures
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.results import TrialResult
from leakrange.wire.names import PublicNames
from tests.papers.tried import tried_by

PAPER = ViciousClassifiers(ViciousSettings())
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
"""A picture of one grey pixel."""


def test_it_is_registered_with_every_row() -> None:
    assert papers["vicious"] is ViciousClassifiers
    rows = Counter(row.table for row in ViciousClassifiers.rows())
    # beyond the printed ones: softmax at 3/1 and 1/0 of three sets, and other weights of Table 6
    assert rows == {"1": 40 + 6, "3": 6, "4": 6, "6": 24 + 4 + 8, "fig3": 3, "fig6": 20}


def test_a_figure_is_the_printed_one() -> None:
    [row] = ViciousClassifiers.select(["1:data=cifar10,output=softmax,beta_r=5"])
    assert (row.figures["psnr"].mean, row.figures["psnr"].deviation) == (15.389, 0.061)
    assert (row.figures["risk"].mean, row.figures["honesty"].mean) == (1.015, 90.47)
    [row] = ViciousClassifiers.select(["6:attributes=2,beta_r=3"])
    assert (row.figures["psnr"].mean, row.figures["honesty"].mean) == (13.68, 62.56)


def test_constants_by_convention_are_no_figures() -> None:
    for row in ViciousClassifiers.select(["1:beta_r=0"]):
        assert set(row.figures) <= {"honesty"}
    for row in ViciousClassifiers.select(["1:beta_c=0"]):
        assert "honesty" not in row.figures


def test_every_row_is_a_trial_of_a_sound_scenario() -> None:
    wanted = PAPER.wanted(ViciousClassifiers.rows(), 1)
    planned = batches(wanted)
    assert sum(len(batch.trials) for batch in planned) == len(wanted)
    for batch in planned:
        found = parse(batch.scenario("vicious"))
        assert tried_by(found) == set(batch.trials)


def test_the_learning_rate_goes_down_where_that_is_set() -> None:
    [row] = ViciousClassifiers.select(["1:data=mnist,output=logits,beta_r=3"])
    assert "decay" not in PAPER.trial(row, 0).provider["schedule"]
    decayed = ViciousClassifiers(ViciousSettings(decay=True))
    assert decayed.trial(row, 0).provider["schedule"]["decay"] == "cosine"
    assert any("half a cosine" in said for said in decayed.differences({row: []}))


def test_table_6_asks_for_as_many_attributes_as_it_says() -> None:
    for row in ViciousClassifiers.select(["6"]):
        target = PAPER.trial(row, 0).provider["target"]
        assert (1 if isinstance(target, str) else len(set(target))) == int(row["attributes"])
    [row] = ViciousClassifiers.select(["6:attributes=5,beta_r=3"])
    assert PAPER.trial(row, 0).provider["target"] == [
        "attractive",
        "black-hair",
        "high-cheekbones",
        "male",
        "smiling",
    ]


def test_forty_targets_fit_into_the_name_of_a_served_model() -> None:
    rows = ViciousClassifiers.select(["6:attributes=3|40,beta_r=3"])
    [batch] = batches(PAPER.wanted(rows, 1))
    plan = expand(parse(batch.scenario("vicious")), lambda _: {"train": 500, "test": 100})
    many, few = sorted(model.served_as(PublicNames("key")) for model in plan.models)
    assert few.startswith("celeba_sub-black-hair-male-smiling-logits-")
    assert many.startswith("celeba_sub-5-o-clock-shadow-arched-eyebrows-of-40-logits-")


@pytest.mark.parametrize(("loss", "weights"), [("mse", (0.0, 10.0)), ("huber", (0.0, 5.0))])
def test_table_3_changes_the_loss_alone(loss: str, weights: tuple[float, float]) -> None:
    [row] = ViciousClassifiers.select([f"3:loss={loss},beta_r=3"])
    [usual] = ViciousClassifiers.select(["3:loss=huber+ssim,beta_r=3"])
    provider, other = PAPER.trial(row, 0).provider, PAPER.trial(usual, 0).provider
    assert (provider["loss"]["ssim"], provider["loss"]["huber"]) == weights
    assert {**provider, "loss": None} == {**other, "loss": None}


def result(name: str) -> tuple[PaperTrial, TrialResult]:
    [row] = ViciousClassifiers.select(
        [f"fig3:data={name}"] if name == "mnist" else [f"1:data={name},beta_r=3,output=logits"]
    )
    found = {
        "id": "t",
        "seed": 0,
        "provider": "p0",
        "data": name,
        "sensitive": "input",
        "defence": "none",
        "attack": "a0",
        "kind": "vicious-decoder",
        "behaviour": "vicious",
        "release": "logits",
        "target": "digit",
        "knowledge": "unaware",
        "budget": 10,
        "state": "done",
        "metrics": {"psnr": {"value": 21.5}},
        "views": {"reconstructions": {"original": DOT, "reconstructed": DOT, "psnr": [21.5]}},
    }
    return PAPER.trial(row, 0), TrialResult.model_validate(found)


def test_figure_6_audits_the_models_of_table_1() -> None:
    rows = ViciousClassifiers.select(["fig6:data=mnist"])
    trained = [PAPER.trial(row, 0) for row in ViciousClassifiers.select(["1:data=mnist,output=logits"])]
    audits = [PAPER.trial(row, 0) for row in rows]
    assert [one.provider for one in audits] == [one.provider for one in trained[:4]]
    assert {one.attack["labelled_from"] for one in audits} == {"test"}
    aside = ViciousClassifiers(ViciousSettings(auxiliary=0.2))
    assert aside.trial(rows[0], 0).attack == {"kind": "audit"}
    [batch] = batches(audits)
    plan = expand(parse(batch.scenario("vicious")), lambda _: {"train": 500, "test": 100})
    assert (len(plan.models), len(plan.trials), plan.streams, plan.probes) == (4, 4, [], [])


def audited(ratio: str, v: list[float]) -> dict[str, Any]:
    """The cell of an audit of a model of MNIST."""
    found = {
        "id": "t",
        "seed": 0,
        "provider": "p0",
        "data": "mnist",
        "sensitive": "behaviour",
        "defence": "none",
        "attack": "a0",
        "kind": "audit",
        "behaviour": ratio,
        "release": "logits",
        "target": "digit",
        "knowledge": "unaware",
        "budget": 10,
        "state": "done",
        "metrics": {
            "viciousness": {"value": v[-1], "low": v[-1] - 0.001, "high": v[-1] + 0.002},
            "cosine": {"value": 1.0 - 2.0 * v[-1]},
            "suspected": {"value": float(v[-1] > 0.01)},
        },
        "views": {"further-training": {"rounds": v, "threshold": 0.01}},
    }
    [row] = ViciousClassifiers.select([f"fig6:data=mnist,beta_r={ratio}"])
    return PAPER.kept(PAPER.trial(row, 0), TrialResult.model_validate(found))


def test_the_page_of_figure_6_has_v_and_a_line_for_each_ratio(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    rows = ViciousClassifiers.select(["fig6:data=mnist", "fig6:data=cifar10"])
    for row in rows:
        if row["data"] == "mnist" and row["beta_r"] in ("0", "5"):
            v = [0.002, 0.0045] if row["beta_r"] == "0" else [0.011, 0.0325]
            cells.put(PAPER.cell(PAPER.trial(row, 0)), audited(row["beta_r"], v))
    page = PAPER.document(rows, 1, cells, "leakrange reproduce vicious")
    [svg] = pictures(page).values()
    for told in ("ρ = 0/1: 0.991", "ρ = 5/1: 0.935"):
        assert told in svg
    assert "ρ = 1/1" not in svg
    said = [line for line in markdown(page).splitlines() if line.startswith("|")]
    [honest] = [line for line in said if line.startswith("| mnist | logits | 0/1")]
    [vicious] = [line for line in said if line.startswith("| mnist | logits | 5/1")]
    [printed] = [line for line in said if line.startswith("| cifar10 | logits | 0/1")]
    assert "| 0.991 |" in honest
    assert honest.endswith("| 0.0045 (0.0035 to 0.0065) | 0 of 1 | 1 |")
    assert vicious.endswith("| 0.0325 (0.0315 to 0.0345) | 1 of 1 | 1 |")
    assert "| 0.980 | – |" in printed


def test_no_photograph_is_kept() -> None:
    assert "reconstructions" in PAPER.kept(*result("mnist"))
    for photographs in ("celeba", "cifar10"):
        assert PAPER.kept(*result(photographs)) == {"psnr": 21.5}


def test_the_page_shows_inputs_above_reconstructions(tmp_path: Path) -> None:
    trial, found = result("mnist")
    cells = Cells(tmp_path)
    cells.put(PAPER.cell(trial), PAPER.kept(trial, found))
    rows = ViciousClassifiers.select(["fig3:data=mnist"])
    page = PAPER.document(rows, 1, cells, "leakrange reproduce vicious")
    [svg] = pictures(page).values()
    assert svg.count(DOT) == 2
    assert "| 21.500 |" in markdown(page)
