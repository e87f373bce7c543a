"""The rows of PASS: all that were printed, as trials that a range can run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from leakrange.defences.input import input_defences
from leakrange.metrics.probing import gain
from leakrange.papers import papers
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.substitution.attributes import PLAYED, played, skewed
from leakrange.papers.substitution.paper import StochasticSubstitution, SubstitutionSettings
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import batches
from leakrange.report.document import markdown
from leakrange.scenario.language import parse
from leakrange.scenario.results import TrialResult
from tests.papers.tried import tried_by

PAPER = StochasticSubstitution(SubstitutionSettings())


def one(selected: str) -> PaperRow:
    [row] = StochasticSubstitution.select([selected])
    return row


def defence(selected: str, **settings: Any) -> tuple[str, dict[str, Any]]:
    paper = StochasticSubstitution(SubstitutionSettings.model_validate(settings))
    [link] = paper.trial(one(selected), 0).defence
    [(name, parameters)] = link.items()
    return name, parameters


def test_it_is_registered_with_every_row() -> None:
    assert papers["pass"] is StochasticSubstitution
    rows = Counter(row.table for row in StochasticSubstitution.rows() if row.figures)
    assert rows == {
        "1": 6, "2": 7, "3": 4, "4": 7, "5": 7, "7": 7,
        "9": 6, "10": 7, "11": 6, "12": 7, "15": 7, "17": 5, "18": 2,
    }  # fmt: skip


def test_a_figure_is_the_printed_one() -> None:
    row = one("4:method=MSDA")
    assert (row.figures["nag_gender"].mean, row.figures["nag_id"].deviation) == (65.4, 1.5)
    assert row.figures["unfinetuned_activity"].mean == 5.5
    row = one("1:method=BDQ,set=motion")
    assert (row.figures["protector_gender"].mean, row.figures["nag_gender"].mean) == (18.2, 56.0)


def test_figures_stand_under_the_attribute_that_they_belong_to() -> None:
    """Some columns of the paper are exchanged: only under their own attribute do accuracies give the NAGs."""
    bounds = {"gender": (80.0, 99.7), "accent": (68.3, 98.6), "age": (16.7, 97.1), "id": (1.7, 98.6)}
    for row in StochasticSubstitution.select(["7"]):
        for name, (low, high) in bounds.items():
            found = gain(row.figures[f"acc_{name}"].mean, low, high)
            assert found is not None
            assert 100 * found == pytest.approx(row.figures[f"nag_{name}"].mean, abs=0.6), (
                row["method"],
                name,
            )


def test_every_row_is_a_trial_of_a_sound_scenario() -> None:
    wanted = PAPER.wanted(StochasticSubstitution.rows(), 1)
    planned = batches(wanted)
    assert sum(len(batch.trials) for batch in planned) == len(wanted)
    for batch in planned:
        found = parse(batch.scenario("pass"))
        assert tried_by(found) == set(batch.trials)
        assert all(each.knowledge and len(each.knowledge) == 1 for each in found.attacks.values())


def test_trials_that_differ_by_defence_alone_are_one_run() -> None:
    found = batches(PAPER.wanted(StochasticSubstitution.select(["2"]), 1))
    assert [len(batch.trials) for batch in found] == [9]


def test_the_paper_states_these_settings() -> None:
    name, speech = defence("2:method=PASS")
    assert (name, speech["epochs"], speech["lr"]) == ("pass", 2000, 1e-3)
    _, faces = defence("5:method=MaSS")
    assert (faces["epochs"], faces["lr"], faces["useful"]) == (50, 1e-4, ["smiling", "young"])
    assert "weights" not in speech  # λ = N/M and μ = .2 N are the defence's own defaults
    assert input_defences["pass"].Parameters.model_fields["temperature"].default == 0.01


def test_rivals_may_train_otherwise_than_pass() -> None:
    settings = {"speech_epochs": 30, "speech_rival_epochs": 7, "lr": 0.02, "rival_lr": 0.005}
    assert [defence("2:method=PASS", **settings)[1][name] for name in ("epochs", "lr")] == [30, 0.02]
    assert [defence("2:method=GAP", **settings)[1][name] for name in ("epochs", "lr")] == [7, 0.005]


def test_learning_rates_may_be_each_methods_own() -> None:
    settings = {"lr": 0.02, "rival_lr": 0.005, "rates": "ADV:0.01,PASS:0.004"}
    methods = ("PASS", "ADV", "GAP")
    assert [defence(f"4:method={each}", **settings)[1]["lr"] for each in methods] == [0.004, 0.01, 0.005]
    assert defence("search:method=ADV,rate=0.001", **settings)[1]["lr"] == 0.001
    with pytest.raises(ValidationError):
        SubstitutionSettings.model_validate({"rates": "ADV"})


def test_rates_are_tried_on_another_draw_where_there_is_one() -> None:
    given, drawn = (
        StochasticSubstitution(SubstitutionSettings(motion=motion))
        for motion in ("hmp-recordings", "synthmotion")
    )
    rows = StochasticSubstitution.select(["search"])
    assert given.wanted(rows, 3) == []
    wanted = drawn.wanted(rows, 3)
    assert (len(wanted), {trial.data["seed"] for trial in wanted}) == (24, {1})
    [measured] = drawn.wanted([one("4:method=ADV")], 1)
    assert "seed" not in measured.data


SEARCHED = {"ADV": [0.5, 0.3, 0.2], "PASS": [0.7, 0.9, 0.9]}
"""The mNAG by the learning rate that was tried, .001, .003 and .01."""


@pytest.mark.parametrize(
    ("rates", "tuned"),
    [
        ("ADV:0.001,PASS:0.003", True),
        ("ADV:0.001,PASS:0.01", True),
        ("ADV:0.01,PASS:0.003", False),
        ("ADV:0.001", False),
    ],
)
def test_beside_rivals_stands_who_chose_their_learning_rates(rates: str, tuned: bool, tmp_path: Path) -> None:
    settings = {"motion": "synthmotion", "motion_epochs": 30, "rates": rates, "lr": 0.001}
    paper = StochasticSubstitution(SubstitutionSettings.model_validate(settings))
    cells = Cells(tmp_path)
    rows = StochasticSubstitution.select(["4:method=ADV|PASS", "search:method=ADV|PASS"])
    for row in rows[2:]:
        gain = SEARCHED[row["method"]][["0.001", "0.003", "0.01"].index(row["rate"])]
        cells.put(paper.cell(paper.trial(row, 0)), {"mnag": gain})
    table, search = paper.document(rows, 3, cells, "").sections
    assert table.remark == (
        "Rivals train for 100% of PASS’s epochs on synthmotion"
        + (
            ". Each of them, and PASS, has the learning rate that gave the highest mNAG of 0.001, 0.003 and "
            "0.01 on another draw of the set, under one seed."
            if tuned
            else "; no rival was tuned."
        )
    )
    assert search.remark.endswith("Rivals train for 100% of PASS’s epochs on synthmotion.")
    assert [line.labels[2] for line in search.lines[:2]] == ["learning rate 0.001", "learning rate 0.003"]


def test_a_page_counts_a_trial_once_of_each_device(tmp_path: Path) -> None:
    """Tables 1 and 4 have rows in common."""
    cells, rows = Cells(tmp_path), [one("4:method=GAP"), one("1:set=motion,method=GAP"), one("4:method=PASS")]
    for row, device in zip(rows[1:], ("NVIDIA H200", "cpu"), strict=True):
        cells.put(PAPER.cell(PAPER.trial(row, 0)), {"mnag": 0.5, "device": device})
    said = PAPER.document(rows, 1, cells, "").differences
    assert [line for line in said if line.startswith("measured on")] == [
        "measured on: NVIDIA H200 1 trials, cpu 1 trials"
    ]


def test_ablations_change_one_thing() -> None:
    assert defence("9:lambda=5")[1]["weights"] == {"useful": 5.0}
    assert defence("10:mu=0.05")[1]["weights"] == {"general": 0.05}
    assert defence("10:mu=0")[1]["weights"] == {"general": 0.0}
    assert defence("11:substitutes=256")[1]["substitutes"] == 256
    skew = defence("12:male=90,digit0=10")[1]["skew"]
    assert skew["accent"] == pytest.approx([0.1 / 3] * 3 + [0.9], abs=1e-5)
    assert skew["digit"] == pytest.approx([0.1] * 10)
    assert defence("12:male=80,digit0=30")[1]["skew"]["digit"] == pytest.approx(
        [0.3] + [0.7 / 9] * 9, abs=1e-5
    )


def test_attributes_that_a_set_lacks_are_left_out() -> None:
    assert played("fsdd", "gender accent age id") == ["accent", "speaker"]
    assert played("audiomnist", "gender accent age id") == ["gender", "accent", "age", "speaker"]
    last = StochasticSubstitution.select(["3"])[-1]
    trial = PAPER.trial(last, 0)
    assert trial.attack["private"] == ["accent", "speaker"]
    assert trial.attack["useful"] == "digit"
    assert "general" not in trial.attack


def test_the_protector_has_half_of_the_samples_and_the_attacker_all() -> None:
    trial = PAPER.trial(one("15:method=ADV"), 0)
    assert trial.data["subset"] == {"pool": 4000, "share": 0.5}
    assert trial.attack["records"] == "pool"
    assert PAPER.trial(one("4:method=ADV"), 0).attack["records"] == "train"


def test_repeats_are_an_averaging_attackers() -> None:
    many, once = (PAPER.trial(one(f"repeats:method=PASS,repeats={k}"), 0).attack for k in (16, 1))
    assert (many["knowledge"], many["repeats"], many["records"]) == ("averaging", 16, "auxiliary")
    assert (once["knowledge"], once["records"]) == ("aware", "auxiliary")
    assert PAPER.trial(one("repeats:method=PASS,repeats=16"), 0).data["auxiliary"] == 0.2
    assert "repeats" not in once
    assert defence("repeats:method=PASS sticky,repeats=4")[1]["sticky"] is True


def test_a_set_whose_attributes_nobody_matched_is_refused() -> None:
    with pytest.raises(ValidationError, match="mnist"):
        SubstitutionSettings(speech="mnist")
    for name in PLAYED:
        assert PLAYED[name]


def test_a_cell_is_measured_anew_where_a_defences_version_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = PAPER.trial(one("2:method=PASS"), 0)
    other = PAPER.trial(one("2:method=ADV"), 0)
    stood = (trial.identity(), other.identity())
    monkeypatch.setattr(input_defences["pass"], "version", 9)
    assert trial.identity() != stood[0]
    assert other.identity() == stood[1]


def result() -> TrialResult:
    rows = [
        {
            "attribute": "accent",
            "role": "private",
            "accuracy": 0.5,
            "majority": 0.3,
            "undefended": 0.9,
            "nag": 0.25,
            "panel_auc": 0.625,
        },
        {
            "attribute": "digit",
            "role": "useful",
            "accuracy": 0.8,
            "majority": 0.1,
            "undefended": 0.95,
            "nag": 0.8,
        },
    ]
    rows[0]["protector_nag"] = 0.0625
    fields = dict.fromkeys(
        (
            "kind",
            "provider",
            "data",
            "behaviour",
            "release",
            "target",
            "sensitive",
            "defence",
            "attack",
            "knowledge",
        ),
        "x",
    )
    return TrialResult(
        **fields,
        budget=1,
        id="t",
        seed=0,
        state="done",
        metrics={
            "mnag": {"value": 0.55},
            "curiosity": {"value": 0.5, "low": 0.45, "high": 0.55},
        },
        views={"attributes": rows},
    )  # type: ignore[arg-type]


def test_the_page_tells_figures_in_percent_beside_what_there_was_to_gain(tmp_path: Any) -> None:
    cells, row = Cells(tmp_path), one("2:method=ADV")
    trial = PAPER.trial(row, 0)
    cell: Cell = PAPER.kept(trial, result())
    cells.put(PAPER.cell(trial), cell)
    page = markdown(PAPER.document([row], 1, cells, "leakrange reproduce pass"), "page.md")
    [line] = [line for line in page.splitlines() if line.startswith("| fsdd | ADV")]
    told = [part.strip() for part in line.strip("|").split("|")]
    # NAG of gender: paper, ours, difference; nobody measured the speaker here
    assert told[3:6] == ["71.4 ± 1.2", "25.0", "-46.4"]
    assert told[6:9] == ["72.3 ± 0.3", "–", "–"]
    assert told[9:12] == ["99.8 ± 0.1", "80.0", "-19.8"]
    assert told[12:15] == ["1.0 ± 1.6", "55.0", "+54.0"]
    assert told[15:18] == ["–", "62.5", "–"]  # AUC of gender, which the paper does not print
    assert told[18] == "accent 30.0 to 90.0, digit 10.0 to 95.0"
    assert PAPER.value(one("1:method=ADV,set=speech"), "protector_gender", cell) == 6.25


def test_shares_of_classes_add_up() -> None:
    assert skewed(0.5, 5, first=True) == [0.5, 0.125, 0.125, 0.125, 0.125]
    assert sum(skewed(0.9, 4, first=False)) == pytest.approx(1.0)


FACES = {"curiosity": 0.6, "curiosity_low": 0.57, "curiosity_high": 0.63}


def told(undefended: float, majority: float, nag: float, name: str) -> dict[str, float]:
    return {
        f"undefended {name}": undefended,
        f"majority {name}": majority,
        f"nag {name}": nag,
        f"protector_nag {name}": nag,
    }


def test_a_gain_over_less_than_the_noise_is_left_out_under_every_seed_and_of_the_mean() -> None:
    row = one("4:method=GAP")  # gender and person are private, the activity is useful
    shared = FACES | told(0.8, 0.3, 0.75, "activity") | told(0.7, 0.5, 0.25, "person")
    # half an interval of ±.03 around .6 is ±.0281 around .7
    clear = shared | told(0.7, 0.67, 2.0, "gender") | {"mnag": 0.75 - (2.0 + 0.25) / 2}
    vague = shared | told(0.7, 0.673, 1.5, "gender") | {"mnag": 0.75 - (1.5 + 0.25) / 2}
    assert PAPER.read(row, [clear, clear]) == [clear, clear]
    for cells in ([clear, vague], [vague, clear]):
        for cell in PAPER.read(row, cells):
            assert {name for name in cell if name.endswith("gender")} == {
                "undefended gender",
                "majority gender",
            }
            assert cell["mnag"] == 0.5
            assert cell["nag activity"] == 0.75
    both = vague | told(0.7, 0.69, 0.25, "person")
    assert "mnag" not in PAPER.read(row, [both])[0]  # nothing private has a gain


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"speech_epochs": 100, "speech_rival_epochs": 40, "motion_epochs": 60, "motion_rival_epochs": 15},
            "Rivals train for 25% of PASS’s epochs on hmp-recordings, 40% of PASS’s epochs on fsdd, 100% of "
            "PASS’s epochs on celeba_sub; no rival was tuned.",
        ),
        ({"speech": "audiomnist", "motion": "motionsense"}, None),
    ],
)
def test_beside_rivals_stands_how_long_they_train(
    settings: dict[str, Any], sentence: str | None, tmp_path: Path
) -> None:
    paper = StochasticSubstitution(SubstitutionSettings.model_validate(settings))
    page = paper.document(StochasticSubstitution.select(["1", "9"]), 1, Cells(tmp_path), "")
    rivals, ablation = (section.remark for section in page.sections)
    assert ablation == ""
    assert rivals == sentence or sentence is None
    shares = "100% of PASS’s epochs on motionsense, 100% of PASS’s epochs on audiomnist, 100% of"
    assert (shares in rivals) == (sentence is None)
