"""``leakrange compare`` against a controller with two finished runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner

from leakrange.clients.cli import console
from leakrange.clients.cli.main import app
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import serve, settings
from tests.controller.test_views import put
from tests.report.build import run, trials
from tests.report.test_comparison import changed

__all__ = ["settings"]


@pytest.fixture(scope="module")
def chosen(settings: Callable[..., ControllerSettings]) -> Iterator[list[str]]:
    made = settings()
    few = [trial for trial in trials() if trial.provider == "digits-regularized"]
    with serve(made) as url:
        first = put(made, run(trials=few, models=[]))
        second = put(made, run(trials=[changed(trial) for trial in few], models=[]))
        yield ["compare", first, second, "--url", url]


def test_it_prints_what_changed(chosen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console._out, "_width", 200)
    told = CliRunner().invoke(app, chosen)
    assert told.exit_code == 0, told.output
    assert "digits-regularized.rounded.inside.unaware.b1000.loop" in told.output
    assert "B less A" in told.output
    [line] = [
        each
        for each in told.output.splitlines()
        if each.startswith("digits-regularized.rounded.inside.unaware.b1000.loop") and " AUC " in each
    ]
    assert "-0.0505" in line
    assert line.rstrip().endswith("paired) *")


def test_the_same_as_csv_and_as_json(chosen: list[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(CliRunner().invoke(app, [*chosen, "--csv"]).stdout)))
    found = json.loads(CliRunner().invoke(app, [*chosen, "--json"]).stdout)
    assert len(rows) == len(found["cells"]) > 0
    assert {row["defence"] for row in rows} == {"none", "rounded", "noise", "top-1", "argmax"}


def test_one_run_is_not_compared_with_itself(chosen: list[str]) -> None:
    told = CliRunner().invoke(app, ["compare", chosen[1], chosen[1], *chosen[3:]])
    assert told.exit_code == 2
    assert "two runs or more" in told.output
