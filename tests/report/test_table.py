"""The CSV holds every figure of every trial, and nothing that a spreadsheet would execute."""

from __future__ import annotations

import csv
import io

from leakrange.report import to_csv
from leakrange.report.table import COLUMNS
from leakrange.scenario.results import RunResults
from tests.report.build import run, trials


def test_every_trial_reads_back_in_full(results: RunResults) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert len(rows) == len(results.trials) == 240
    for row, trial in zip(rows, results.trials, strict=True):
        for name in COLUMNS:
            value = getattr(trial, name)
            assert row[name] == ("" if value is None else str(value))
        assert trial.curiosity is not None
        assert float(row["curiosity"]) == trial.curiosity


def test_text_that_looks_like_a_formula_is_made_harmless() -> None:
    first = trials()[0].model_copy(
        update={"state": "failed", "provider": "=1+1", "error": '@SUM(A1)\n"quoted", and more'}
    )
    [row] = csv.DictReader(io.StringIO(to_csv(run(trials=[first]))))
    assert row["provider"] == "'=1+1"
    assert row["error"] == '\'@SUM(A1)\n"quoted", and more'


def test_a_run_without_trials_has_the_header_alone() -> None:
    assert to_csv(run(trials=[])).splitlines() == [",".join(COLUMNS)]
