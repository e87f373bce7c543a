"""The CSV holds every figure of every trial, and nothing that a spreadsheet would execute."""

from __future__ import annotations

import csv
import io

from leakrange.report import to_csv
from leakrange.report.table import COLUMNS, OWN
from leakrange.scenario.results import MembershipFigures, RunResults
from tests.report.build import run, trials


def test_every_trial_reads_back_in_full(results: RunResults) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert len(rows) == len(results.trials) == 240
    for row, trial in zip(rows, results.trials, strict=True):
        for name in OWN:
            value = getattr(trial, name)
            assert row[name] == ("" if value is None else str(value))
        assert trial.curiosity is not None
        assert float(row["curiosity"]) == trial.curiosity


def test_membership_figures_are_columns_of_their_own() -> None:
    figures = MembershipFigures(
        records=400, auc_interval=(0.6, 0.8), unsigned_auc=0.7, tpr_at_001=0.125, tpr_at_0001=0.03125,
        balanced_accuracy=0.65, precision=0.6, recall=0.7, f1=0.646,
    )  # fmt: skip
    [row] = csv.DictReader(
        io.StringIO(to_csv(run(trials=[trials()[0].model_copy(update={"membership": figures})])))
    )
    assert (row["auc_low"], row["auc_high"], row["records"]) == ("0.6", "0.8", "400")
    assert (row["tpr_at_001"], row["tpr_at_0001"], row["f1"]) == ("0.125", "0.03125", "0.646")


def test_text_that_looks_like_a_formula_is_made_harmless() -> None:
    first = trials()[0].model_copy(
        update={"state": "failed", "provider": "=1+1", "error": '@SUM(A1)\n"quoted", and more'}
    )
    [row] = csv.DictReader(io.StringIO(to_csv(run(trials=[first]))))
    assert row["provider"] == "'=1+1"
    assert row["error"] == '\'@SUM(A1)\n"quoted", and more'


def test_a_run_without_trials_has_the_header_alone() -> None:
    assert to_csv(run(trials=[])).splitlines() == [",".join(COLUMNS)]
