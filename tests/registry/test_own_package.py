"""A package of the user's own brings a data set, a metric, a defence, an attack of a new kind and a view: a
range runs them together, and nothing of the range knows their names."""

from __future__ import annotations

import csv
import html
import re
from pathlib import Path

import pytest

from tests.range.conftest import Controller, value

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "tides"
PAGES = ("attack.md", "data-set.md", "defence.md", "view.md")
"""Below ``docs/extend``: they show the files of the package."""


def test_the_pages_show_every_file_of_the_package() -> None:
    shown: list[str] = []
    for page in PAGES:
        shown += re.findall(r'(?m)^--8<-- "tides/(.*)"$', (ROOT / "docs" / "extend" / page).read_text())
    files = (path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file())
    assert sorted(shown) == sorted(str(path) for path in files if path.stem != "__init__")


def test_a_scenario_of_five_things_that_the_range_does_not_have(plugged: Controller) -> None:
    run = plugged.run((EXAMPLE / "tides.yaml").read_text())
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
    assert "unexplained variance (" in report
    assert "below guessing (100.0 %)" in report
    assert run.results["environment"]["plugin leakrange-tides"] == "1.2"
    assert "The sea at the first buoy of one user" in report

    shown = plugged.ask("GET", f"/v1/runs/{run.id}/views").json()
    [section] = [section for section in shown["sections"] if section["title"] == "Restored waves"]
    [picture] = [picture for group in section["groups"] for picture in group["pictures"]]
    assert [key["text"] for key in picture["keys"]] == ["as it was", "none", "order"]
    assert picture["rows"] == 3 * 20
    board = html.unescape(plugged.ask("GET", f"/runs/{run.id}/board").text)
    assert '<div id="waves"' in board
    assert section["lead"] in board
    assert f'<figure id="{picture["name"]}"' in board
