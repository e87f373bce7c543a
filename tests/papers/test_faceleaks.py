"""The rows of FACELEAKS: all that were printed, as trials that a range can run, and how its page tells
them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from leakrange.defences.output import Chain
from leakrange.papers import papers
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.faceleaks.paper import FaceLeaks, FaceLeaksSettings, taught
from leakrange.papers.trials import batches
from leakrange.report.document import html, markdown, pictures
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from tests.embedded import EmbeddedRange, leakrange
from tests.papers.tried import tried_by

PAPER = FaceLeaks(FaceLeaksSettings())
RELEASES = {"features": "features", "verification": "score", "recognition": "softmax"}


def test_it_is_registered_with_every_row() -> None:
    assert papers["faceleaks"] is FaceLeaks
    assert Counter(row.table for row in FaceLeaks.rows()) == {
        **{"3": 5, "1-2": 24, "5": 66, "gap": 21, "budget": 7, "labels": 20},
        **{"7": 108, "6": 45, "8a": 4, "8b": 3},
    }
    assert set(FaceLeaks.sheet.tables) == {row.table for row in FaceLeaks.rows()}


def test_a_figure_is_the_printed_one() -> None:
    [row] = FaceLeaks.select(["1-2:service=recognition,method=svm,folds_by=person,logarithm="])
    printed = {name: (figure.mean, figure.deviation) for name, figure in row.figures.items()}
    assert printed == {"precision": (0.498, 0.007), "recall": (0.444, 0.088), "f1": (0.465, 0.046)}
    [row] = FaceLeaks.select(["7:service=features,defence=noise 5,knowledge=aware"])
    assert (row.figures["auc"].mean, row.figures["auc"].deviation) == (0.494, 0.017)


@pytest.mark.parametrize("settings", [{}, FaceLeaks.sheet.quick_settings], ids=["full", "quick"])
def test_every_row_is_a_trial_of_a_sound_scenario(settings: dict[str, object]) -> None:
    paper = FaceLeaks(FaceLeaksSettings.model_validate(settings))
    wanted = paper.wanted(FaceLeaks.select(FaceLeaks.sheet.quick) if settings else FaceLeaks.rows(), 1)
    planned = batches(wanted)
    assert sum(len(batch.trials) for batch in planned) == len(wanted)
    for batch in planned:
        found = parse(batch.scenario("faceleaks"))
        assert tried_by(found) == set(batch.trials)


def test_a_seed_casts_the_people_that_it_was_measured_with() -> None:
    [batch] = batches([PAPER.trial(row, 3) for row in FaceLeaks.select(["3:service=features"])])
    plan = expand(parse(batch.scenario("faceleaks")), lambda _spec: None)
    assert {(model.recipe.data.seed, model.recipe.seed) for model in plan.models} == {(3, 3)}


def test_every_defence_fits_what_its_service_releases() -> None:
    for row in FaceLeaks.select(["7"]):
        chain = Chain.parse(PAPER.trial(row, 0).defence)
        assert chain.refuse(RELEASES[row["service"]]) is None, row["defence"]  # type: ignore[arg-type]
        # who asks again where the answer is the same learns nothing
        assert not (row["knowledge"] == "averaging" and chain.deterministic), row["defence"]


def measured(tmp_path: Path, table: str, cell: Cell, seeds: int = 2) -> str:
    """The page of one table's rows, each of which has been measured as ``cell``."""
    cells, rows = Cells(tmp_path), FaceLeaks.select([table])
    for row in rows:
        for seed in range(seeds):
            cells.put(PAPER.cell(PAPER.trial(row, seed)), cell)
    found = PAPER.document(rows, seeds, cells, "leakrange reproduce faceleaks")
    text = markdown(found, "faceleaks")
    assert len(pictures(found)) == html(found).count("<figure>")
    assert all(f"](faceleaks/{name})" in text for name in pictures(found))
    return text


CURVE = {"roc": {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}}
SPREAD = {"distribution": {"statistic": "S", "members": [1.0, 2.0], "others": [2.0, 3.0]}}
AREA = {"auc": 0.75, "unsigned_auc": 0.75, "tpr_at_001": 0.25, "tpr_at_0001": 0.125}


def test_an_auc_stands_with_its_interval_and_its_pictures(tmp_path: Path) -> None:
    text = measured(tmp_path, "5", {**AREA, **CURVE, **SPREAD, "auc_low": 0.7, "auc_high": 0.8})
    line = (
        "| features, normalised | none | class-based, qda, folds by person | 0.710 | 0.750 ± 0.000 | +0.040 "
    )
    assert line + "| [0.700, 0.800] | 0.750 | 2 |" in text
    assert text.count("![ROC curves") == 3
    assert text.count("![Distribution") == 5


def test_a_rate_that_so_few_people_do_not_tell_is_no_column(tmp_path: Path) -> None:
    """Whatever cells hold: 60 others are no thousand, and no hundred."""
    for table in ("5", "7"):
        text = measured(tmp_path, table, AREA)
        assert "| TPR" not in text
        assert "TPR at 0.1 % FPR: not measurable with 60 others, takes 1,000" in text
        assert "TPR at 1 % FPR: not measurable with 60 others, takes 100" in text


def test_an_interval_that_was_not_kept_is_left_open(tmp_path: Path) -> None:
    assert "| +0.040 | – | 0.750 |" in measured(tmp_path, "5", AREA)


TEACHERS = ("plain 2", "", "plain 8", "plain 12", "varied 8", "varied 20", "margin 20")


def test_every_service_is_asked_of_every_teacher_and_the_common_one_is_trained_once() -> None:
    rows = FaceLeaks.select(["gap"])
    assert Counter(row["service"] for row in rows) == dict.fromkeys(RELEASES, len(TEACHERS))
    assert tuple(dict.fromkeys(row["teacher"] for row in rows)) == TEACHERS
    own = {str(PAPER.trial(row, 0).identity()) for row in FaceLeaks.select(["5"])}
    assert {row["teacher"] for row in rows if str(PAPER.trial(row, 0).identity()) in own} == {""}
    with pytest.raises(ValueError, match="plain, varied, margin"):
        taught("strict 4")


def test_an_attackers_own_recogniser_has_no_strangers_to_choose_by() -> None:
    [row] = FaceLeaks.select(["gap:service=features,teacher=varied 20"])
    trial = PAPER.trial(row, 0)
    deduces = trial.model_copy(update={"attack": {**trial.attack, "labels": "deduced", "each": 7}})
    plan = expand(parse(batches([deduces])[0].scenario("faceleaks")), lambda _spec: None)
    [teacher], [recogniser] = ([m.recipe.schedule for m in found] for found in (plan.models, plan.shadows))
    assert (teacher.select, teacher.augment, teacher.epochs) == ("strangers", "varied", 20)
    assert (recogniser.select, recogniser.augment, recogniser.epochs) == ("best", "varied", 60)


TAUGHT = {"generalisation_gap": 0.5, "training_accuracy": 0.75, "teacher_accuracy": 0.25, "honesty": 0.8}


def test_an_auc_stands_with_its_teachers_gap_and_is_drawn_against_it(tmp_path: Path) -> None:
    text = measured(tmp_path, "gap", {**AREA, **TAUGHT, "auc_low": 0.7, "auc_high": 0.8})
    told = "| – | 0.750 ± 0.000 | – | [0.700, 0.800] | 0.500 | 0.750 | 0.250 | 0.800 | 2 |"
    assert f"| recognition | none | class-based, S, teacher margin 20 {told}" in text
    assert f"| features, normalised | none | class-based, S, teacher plain 4 {told}" in text
    assert text.count("![") == 1


def test_what_was_measured_without_a_gap_is_told_and_not_drawn(tmp_path: Path) -> None:
    text = measured(tmp_path, "gap", {**AREA, "honesty": 0.8})
    assert "| 0.750 ± 0.000 | – | – | – | – | – | 0.800 | 2 |" in text
    assert "![" not in text


def test_labels_are_told_by_how_they_are_deduced_and_drawn_by_how_many_are_right(tmp_path: Path) -> None:
    cell = {**AREA, "labels_right": 0.25, "people": 150.0, "auc_low": 0.7, "auc_high": 0.8}
    text = measured(tmp_path, "labels", cell)
    told = "| – | 0.750 ± 0.000 | – | [0.700, 0.800] | 150.0 | 0.250 | 2 |"
    said = "class-based, S, deduced labels, the surest .5, 4 images of each, teacher varied 20"
    assert f"| features, normalised | none | {said} {told}" in text
    assert text.count("![") == 1
    [row] = FaceLeaks.select(["labels:labels=clustered,trim=.4,teacher="])
    attack = PAPER.trial(row, 0).attack
    assert attack == {"kind": "class-based", "known": 40, "labels": "clustered", "each": 7, "trim": 0.4}


@pytest.mark.parametrize("table", ["budget", "6", "8a", "8b"])
def test_an_auc_against_a_number_is_drawn(table: str, tmp_path: Path) -> None:
    assert measured(tmp_path, table, AREA).count("![") == 1


def test_a_row_is_measured_by_a_range_and_asked_once(embedded_range: EmbeddedRange, tmp_path: Path) -> None:
    chosen = {"data": "synthpeople", "size": 32, "width": 0.25, "epochs": 1, "images": 6}
    chosen |= {"tested": 10, "validated": 5, "pairs": 6, "students": 5, "enrolled": 6, "public": 20}
    table = "5:service=verification,features=normalised,method=mean|distance"
    words = [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]
    options = ["--table", table, "--seeds", "1", "--state", str(embedded_range.root), *words]
    first = leakrange("reproduce", "faceleaks", *options, "--store", str(tmp_path / "one"))
    assert first.returncode == 0, first.stderr
    assert "2 trials in 1 runs" in first.stderr
    lines = [line for line in first.stdout.splitlines() if line.startswith("| verification")]
    assert len(lines) == 2
    assert all("–" not in line for line in lines)  # every figure is there
    probes = embedded_range.folder.root / "releases"
    asked = {file.name for file in probes.rglob("*")}
    # Another store knows no cells: the range has what it needs for them.
    again = leakrange("reproduce", "faceleaks", *options, "--store", str(tmp_path / "another"))
    # Above that are the commands, which name the stores and may be wrapped.
    pages = [each.stdout.partition("A teacher learns")[2] for each in (first, again)]
    assert pages[0] == pages[1] != ""
    assert {file.name for file in probes.rglob("*")} == asked
