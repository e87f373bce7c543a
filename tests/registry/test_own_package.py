"""A package of the user's own brings a data set, a metric, an output defence and an attack of a new kind: a
range runs them together, and nothing of the range knows their names."""

from __future__ import annotations

import csv
import html
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.embedded import EmbeddedRange
from tests.plugins import install
from tests.range.conftest import Controller, value

pytestmark = pytest.mark.timeout(900)

GROUPS = {
    "tides.data_set": "leakrange.data.sets",
    "tides.metric": "leakrange.metrics",
    "tides.defence": "leakrange.defences.output",
    "tides.kind": "leakrange.attacks.kinds",
    "tides.attack": "leakrange.attacks",
}
SCENARIO = {
    "name": "tides",
    "seeds": [0],
    "chunk": 100,
    "data": {"name": "buoys", "auxiliary": 0.4},
    "net": {"name": "conv-1d", "width": 0.25},
    "schedule": {"epochs": 2, "batch": 16},
    "providers": {"honest": {"behaviour": "honest", "target": "tide"}},
    "clients": {"phones": {"kind": "edge", "count": 2, "samples": 80}},
    "defences": {"none": [], "order": ["ranks"]},
    "attacks": {"restoring": {"kind": "least-squares"}},
    "budgets": [100],
}


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controller]:
    """A range every process of which has the package."""
    package = tmp_path / "package"
    shutil.copytree(Path(__file__).with_name("plugin"), package)
    monkeypatch.setenv("PYTHONPATH", install(package, GROUPS))
    standing = EmbeddedRange(tmp_path / "range")
    standing.up()
    made = Controller(standing)
    try:
        yield made
    finally:
        made.client.close()
        standing.down()


def test_a_scenario_of_four_things_that_the_range_does_not_have(plugged: Controller) -> None:
    run = plugged.run(yaml.safe_dump(SCENARIO))
    assert (run.view["state"], run.view["trials"]["done"]) == ("done", 2), run.view
    clear, order = (run.trials[f"honest-s0.{name}.restoring.aware.b100"] for name in ("none", "order"))
    for trial in (clear, order):
        assert (trial["kind"], trial["data"], trial["sensitive"]) == ("restoration", "buoys", "sample")
        assert (trial["victims"], trial["spent"]) == (80, 100)
    assert value(clear, "honesty") == value(order, "honesty") > 0.8
    assert value(clear, "unexplained") + 0.05 < value(order, "unexplained") < 0.6
    for entry in run.results["ledger"]:
        assert entry["spent"] == entry["distinct"] <= entry["budget"], entry
    [undefended] = [row for row in run.results["summaries"] if row["defence"] == "none"]
    assert undefended["metrics"]["unexplained"]["mean"] == value(clear, "unexplained")

    table = plugged.ask("GET", f"/v1/runs/{run.id}/results?format=csv").text
    written = {row["id"]: row["unexplained"] for row in csv.DictReader(table.splitlines())}
    assert written == {name: repr(value(trial, "unexplained")) for name, trial in run.trials.items()}

    report = html.unescape(plugged.ask("GET", f"/v1/runs/{run.id}/report").text).replace("\u00a0", " ")
    figure = f"{100 * value(clear, 'unexplained'):.1f} %"
    assert f"restores the sample but for {figure} of its variance" in report
    assert "unexplained variance</th>" in report
    assert "below the chance of 100.0 %: “sample” at honest" in report
    assert run.results["environment"]["plugin leakrange-own"] == "1.2"
