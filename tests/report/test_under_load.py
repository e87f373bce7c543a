"""The picture and the table of a run under load, from results made by hand."""

import csv
import io

import pytest

from leakrange.report import render
from leakrange.report.charts.standalone import standalone
from leakrange.report.charts.under_load import under_load
from leakrange.report.findings import find
from leakrange.report.load_table import as_csv, as_text, load_rows
from leakrange.scenario.results import RunResults
from leakrange.scenario.under_load import Loaded, LoadPart, Measured
from tests.report.build import run, trials

LINES = [
    Measured(defence="none", user="attribute", answered=90, failed=10, milliseconds={20: 60, 300: 30}),
    Measured(defence="rounded", user="attribute", answered=60, refused=20, milliseconds={40: 60}),
]


@pytest.fixture(scope="module")
def loaded() -> RunResults:
    chosen = [
        each
        for each in trials()
        if (each.data, each.provider, each.knowledge) == ("digits", "digits-honest", "aware")
        and each.defence in ("none", "rounded", "argmax")
    ]
    spent = [each.model_copy(update={"spent": 3 * each.budget + each.seed}) for each in chosen]
    load = Loaded(spec={"users": {"attribute": 8}}, parts={"a": LoadPart(seconds=12, measured=LINES)})
    return run(trials=spent, summaries=[], load=load)


def test_the_table_says_what_was_reached_spent_and_seen(loaded: RunResults) -> None:
    rows = load_rows(find(loaded))
    assert [(row.defence, row.budget) for row in rows] == [
        (defence, budget) for defence in ("none", "rounded", "argmax") for budget in (100, 1000)
    ]
    first = rows[1]
    own = [each for each in loaded.trials if (each.defence, each.budget) == ("none", 1000)]
    values = [each.metrics["auc"].value for each in own]
    assert first.value == pytest.approx(sum(values) / 2)
    assert first.spent == 3000.5
    assert first.low is not None
    assert first.high is not None
    assert 0 <= first.low < first.value < first.high <= 1
    assert (first.p50, first.p99) == (20, 300)
    assert (first.answered, first.refused, first.failed) == (90, 0.0, 0.1)
    rounded = rows[3]
    assert (rounded.p50, rounded.p99, rounded.refused, rounded.failed) == (40, 40, 0.25, 0.0)
    assert rows[5].answered is None  # nobody asked under argmax


def test_a_single_seed_has_the_interval_of_its_trial(loaded: RunResults) -> None:
    one = loaded.model_copy(update={"trials": [each for each in loaded.trials if each.seed == 0]})
    row = load_rows(find(one))[0]
    own = next(each for each in one.trials if (each.defence, each.budget) == ("none", 100))
    found = own.metrics["auc"]
    assert (row.value, row.low, row.high) == pytest.approx((found.value, found.low, found.high))


def test_the_picture_has_a_line_a_defence_and_how_requests_were_answered(loaded: RunResults) -> None:
    (picture,) = under_load(find(loaded))
    tips = [part.split("<")[0] for part in picture.svg.split("<title>")[1:]]
    for defence in ("none", "rounded", "argmax"):
        assert sum(tip.startswith(f"{defence}: ") and "queries" in tip for tip in tips) >= 2
    assert "none: half of the answers within 20 ms" in tips
    assert "none: 99 % of the answers within 300 ms" in tips
    assert any(tip.startswith("rounded: 25") and tip.endswith("refused") for tip in tips)
    assert any(tip.startswith("none: 10") and tip.endswith("failed") for tip in tips)
    assert not any(tip.startswith("argmax") and "within" in tip for tip in tips)
    assert "answered within 20 ms (half) and 300 ms (99 %)" in picture.label
    assert {key.text for key in picture.keys} >= {"none", "rounded", "argmax"}
    assert standalone(picture).startswith("<svg ")


def test_the_report_shows_it_and_that_of_another_run_does_not(loaded: RunResults) -> None:
    page = render(loaded)
    assert 'id="load"' in page
    assert "8 attribute users ask at the peak" in page
    assert "25.0 %" in page
    assert 'id="load"' not in render(loaded.model_copy(update={"load": None}))
    assert load_rows(find(loaded.model_copy(update={"load": None}))) == []


def test_a_line_ends_where_a_limit_gave_no_more_answers(loaded: RunResults) -> None:
    why = "the limit 'small' (global) refused after 320 answers, and this budget takes 1,000"
    cut = [
        each.model_copy(update={"state": "refused", "error": why, "metrics": {}, "views": {}})
        if (each.defence, each.budget) == ("rounded", 1000)
        else each
        for each in loaded.trials
    ]
    run = loaded.model_copy(update={"trials": cut})
    (picture,) = under_load(find(run))
    tips = [part.split("<")[0] for part in picture.svg.split("<title>")[1:]]
    assert [tip for tip in tips if "ends here" in tip] == [f"rounded ends here: {why}"]
    assert "a limit gave no more answers" in {key.text for key in picture.keys}
    assert standalone(picture).count("scale(6)") == 1  # the cross in the legend
    assert [row.budget for row in load_rows(find(run)) if row.defence == "rounded"] == [100]
    page = render(run).replace("&#39;", "'")
    assert f"digits-honest, outside (aware) under rounded: {why}." in page
    assert "2 refused by a limit" in page
    every = [
        each.model_copy(update={"state": "refused", "error": why, "metrics": {}, "views": {}})
        if each.defence == "rounded"
        else each
        for each in loaded.trials
    ]
    (without,) = under_load(find(loaded.model_copy(update={"trials": every})))
    said = "rounded: a limit refused before the first point"
    assert [key.colour for key in without.keys if key.text == said] == [1]
    (whole,) = under_load(find(loaded))
    assert not {"a limit gave no more answers"} & {key.text for key in whole.keys}


def test_a_run_under_load_that_has_just_begun_says_so() -> None:
    begun = run(trials=[], summaries=[], load=Loaded(spec={"users": {"attribute": 1}}))
    assert under_load(find(begun)) == []
    assert "No attack has finished yet" in render(begun)


def test_csv_and_text_hold_every_row(loaded: RunResults) -> None:
    rows = load_rows(find(loaded))
    read = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [float(each["value"]) for each in read] == [row.value for row in rows]
    assert read[5]["p99"] == ""
    text = as_text(rows).splitlines()
    assert len(text) == 1 + len(rows)
    assert "300 ms" in text[1]
