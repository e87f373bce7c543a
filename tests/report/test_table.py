"""The CSV holds every figure of every trial, and nothing that a spreadsheet would execute."""

from __future__ import annotations

import csv
import io

from leakrange.metrics import Estimate
from leakrange.report import to_csv
from leakrange.report.table import OWN
from leakrange.scenario.results import RunResults
from tests.report.build import run, trials


def test_every_trial_reads_back_in_full(results: RunResults) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert len(rows) == len(results.trials) == 240
    for row, trial in zip(rows, results.trials, strict=True):
        for name in OWN:
            value = getattr(trial, name)
            assert row[name] == ("" if value is None else str(value))
        assert {name: float(row[name]) for name in trial.metrics} == {
            name: estimate.value for name, estimate in trial.metrics.items()
        }


def test_every_metric_and_every_interval_of_any_trial_is_a_column() -> None:
    first, second = trials()[:2]
    own = {"auc": Estimate(value=0.7, low=0.6, high=0.8), "tpr_at_001": Estimate(value=0.125)}
    table = to_csv(run(trials=[first.model_copy(update={"metrics": own}), second]))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [rows[0][name] for name in ("auc", "auc_low", "auc_high", "tpr_at_001")] == [
        "0.7", "0.6", "0.8", "0.125"
    ]  # fmt: skip
    auc = second.metrics["auc"]
    assert [rows[1][name] for name in ("auc_low", "tpr_at_001")] == [str(auc.low), ""]
    assert rows[0]["curiosity"] == ""
    assert "curiosity_low" not in rows[0]


def test_a_rate_that_takes_more_records_is_told_from_one_that_was_not_measured() -> None:
    """Of an attack of another kind it is not to be measured, of one on members it was not measurable."""
    first, second = trials()[:2]
    few = {name: Estimate(value=0.7) for name in ("auc", "unsigned_auc", "tpr_at_001")}
    table = to_csv(run(trials=[first.model_copy(update={"metrics": few}), second]))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["tpr_at_001"] for row in rows] == ["0.7", ""]
    assert [row["tpr_at_0001"] for row in rows] == ["not measurable", ""]


def test_text_that_looks_like_a_formula_is_made_harmless() -> None:
    first = trials()[0].model_copy(
        update={"state": "failed", "provider": "=1+1", "error": '@SUM(A1)\n"quoted", and more'}
    )
    [row] = csv.DictReader(io.StringIO(to_csv(run(trials=[first]))))
    assert row["provider"] == "'=1+1"
    assert row["error"] == '\'@SUM(A1)\n"quoted", and more'


def test_a_run_without_trials_has_the_header_alone() -> None:
    assert to_csv(run(trials=[])).splitlines() == [",".join(OWN)]
