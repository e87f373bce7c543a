"""Comparisons pair what has the same name, and say how sure a change is."""

from __future__ import annotations

import csv
import io
from functools import cache

import pytest
from scipy import stats

from leakrange.report.comparison import charts, compared, table
from leakrange.report.findings import Findings, find
from leakrange.scenario.results import TrialResult
from leakrange.wire.comparison import ComparedCell, Comparison
from tests.report.build import measured, run, trials, unmeasured


def changed(trial: TrialResult) -> TrialResult:
    """With a lower AUC under rounding, by an amount that depends on the seed."""
    if trial.defence != "rounded":
        return trial
    return measured(trial, auc=trial.metrics["auc"].value - 0.05 - 0.001 * trial.seed)


def other_seeds(trial: TrialResult) -> TrialResult:
    return trial.model_copy(update={"seed": trial.seed + 7})


@cache
def first() -> Findings:
    return find(run())


@cache
def second() -> Findings:
    found = [changed(each) for each in trials() if each.defence != "argmax"]
    scenario = {"defences": {"none": [], "rounded": [{"round": {"decimals": 0}}]}}
    return find(run(run="r-second", trials=found, scenario=scenario))


@cache
def third() -> Findings:
    return find(run(run="r-third", state="running", trials=[other_seeds(changed(each)) for each in trials()]))


def comparison(*runs: Findings) -> Comparison:
    return compared(runs, [])


def one(found: Comparison, **wanted: object) -> ComparedCell:
    [cell] = [
        each for each in found.cells if all(getattr(each, name) == value for name, value in wanted.items())
    ]
    return cell


CELL = {
    "provider": "digits-regularized",
    "defence": "rounded",
    "budget": 1000,
    "metric": "auc",
}


def values(findings: Findings) -> list[float]:
    rows = [
        each
        for each in findings.results.trials
        if (each.provider, each.defence, each.budget) == ("digits-regularized", "rounded", 1000)
    ]
    return [each.metrics["auc"].value for each in sorted(rows, key=lambda each: each.seed)]


def test_the_same_seeds_are_paired() -> None:
    cell = one(comparison(first(), second()), **CELL)
    before, after = values(first()), values(second())
    change = cell.changes[1]
    assert cell.changes[0] is None
    assert change is not None
    assert change.method == "paired"
    assert change.value == pytest.approx(-0.0505)
    wanted = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (change.low, change.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    assert change.clear is bool(wanted.high < 0 or wanted.low > 0)
    figure = cell.figures[0]
    assert figure is not None
    assert (figure.mean, figure.seeds) == (pytest.approx(sum(before) / 2), [0, 1])


def test_other_seeds_are_not() -> None:
    found = comparison(first(), third())
    change = one(found, **CELL).changes[1]
    assert change is not None
    wanted = stats.ttest_ind(values(third()), values(first()), equal_var=False).confidence_interval(0.95)
    assert change.method == "welch"
    assert (change.low, change.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    assert any("Welch" in note for note in found.notes)
    assert any("r-third" in note for note in found.notes)  # which is not finished


def test_only_shared_cells_are_compared_and_only_what_was_measured() -> None:
    found = comparison(first(), second())
    assert "argmax" not in {each.defence for each in found.cells}
    assert {each.metric for each in found.cells} == {"auc", "honesty"}
    failed = [unmeasured(each, state="failed") if each.defence == "rounded" else each for each in trials()]
    without = comparison(first(), find(run(trials=failed)))
    assert "rounded" not in {each.defence for each in without.cells}
    lonely = comparison(first(), find(run(trials=failed)), second())
    cell = one(lonely, **CELL)
    assert (cell.figures[1], cell.changes[1]) == (None, None)
    assert cell.changes[2] is not None


def test_the_order_of_runs_turns_the_sign() -> None:
    forward, back = one(comparison(first(), second()), **CELL), one(comparison(second(), first()), **CELL)
    assert forward.changes[1] is not None
    assert back.changes[1] is not None
    assert back.changes[1].value == pytest.approx(-forward.changes[1].value)


def test_scenarios_differences_are_told() -> None:
    found = {each.path: each.values for each in comparison(first(), second()).differences}
    assert found == {
        "defences.rounded": ["[{round: {decimals: 1}}]", "[{round: {decimals: 0}}]"],
        "defences.argmax": ["[{argmax: {}}]", None],
    }


def test_the_table_has_a_row_for_each_figure() -> None:
    found = comparison(first(), second())
    rows = list(csv.DictReader(io.StringIO(table(found).csv())))
    assert len(rows) == len(found.cells)
    [row] = [
        each
        for each in rows
        if (each["provider"], each["defence"], each["budget"], each["metric"])
        == ("digits-regularized", "rounded", "1000", "AUC")
    ]
    assert float(row["B less A"]) == pytest.approx(-0.0505)
    assert (row["A, seeds"], row["B less A, method"]) == ("0 1", "paired")


def test_charts_lay_the_runs_upon_one_another() -> None:
    drawn = charts([first(), second()])
    titles = [each.title for each in drawn]
    assert "digits-regularized on digits: loop" in titles  # a plane
    assert "digits-honest on digits: outside (averaging)" in titles  # against budget
    for picture in drawn:
        assert {row[0] for row in picture.table.rows} == {"A", "B"}
        assert picture.svg.startswith("<svg")
        assert picture.definition.terms


def test_runs_that_share_nothing_have_nothing_to_compare() -> None:
    elsewhere = find(
        run(trials=[each.model_copy(update={"provider": f"other-{each.provider}"}) for each in trials()])
    )
    found = comparison(first(), elsewhere)
    assert (found.cells, charts([first(), elsewhere])) == ([], [])
