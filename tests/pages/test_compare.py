"""Comparing runs: the API, and the page in a real browser."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import Api, problem, serve
from tests.controller.test_views import put
from tests.pages.conftest import opened
from tests.report.build import run, trials
from tests.report.test_comparison import changed


@pytest.fixture(scope="module")
def own(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[str, str, str]]:
    """A controller, and two finished runs there."""
    made = settings()
    few = [trial for trial in trials() if trial.provider in ("digits-honest", "digits-regularized")]
    scenario = {"defences": {"none": [], "rounded": [{"round": {"decimals": 0}}], "argmax": [{"argmax": {}}]}}
    with serve(made) as url:
        first = put(made, run(trials=few, models=[]))
        second = put(made, run(trials=[changed(trial) for trial in few], models=[], scenario=scenario))
        yield url, first, second


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_what_differs_stands_beside_one_another(
    browser: Browser, own: tuple[str, str, str], width: int, scheme: str
) -> None:
    url, first, second = own
    with opened(browser, f"{url}/compare?run={first}&run={second}", width=width, scheme=scheme) as tab:
        differences = tab.get_by_role("region", name="Differences of the scenarios").locator("tbody tr")
        expect(differences).to_have_count(1)
        expect(differences).to_contain_text("defences.rounded")
        figures = tab.get_by_role("region", name="Shared figures").locator("tbody tr")
        changes = figures.filter(has=tab.locator(".change.clear"))
        assert 0 < changes.count() < figures.count()
        tab.get_by_label("only changes whose interval is clear of zero").check()
        assert figures.evaluate_all("all => all.filter(it => it.checkVisibility()).length") == changes.count()
        assert tab.locator("figure svg.chart").count() > 2
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_runs_are_chosen_from_a_list(browser: Browser, own: tuple[str, str, str]) -> None:
    url, first, second = own
    with opened(browser, f"{url}/compare") as tab:
        for each in (second, first):
            tab.get_by_label(each).check()
        tab.get_by_role("button", name="Compare").click()
        # in the order in which they were begun
        expect(tab.locator(".compared li").first).to_contain_text(first)
        expect(tab.locator(".compared li").last).to_contain_text(second)


def test_the_api_tells_the_same_as_json_and_as_csv(own: tuple[str, str, str]) -> None:
    url, first, second = own
    with httpx.Client(base_url=url, timeout=60) as client:
        chosen = {"run": [first, second]}
        found = Api(client).get("/v1/compare", params=chosen)
        text = client.get("/v1/compare", params={**chosen, "format": "csv"}).text
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [each["run"] for each in found["runs"]] == [first, second]
        assert len(rows) == len(found["cells"]) > 0
        assert [float(row["B less A"]) for row in rows] == pytest.approx(
            [cell["changes"][1]["value"] for cell in found["cells"]], abs=1e-8
        )
        assert {chart["kind"] for chart in found["charts"]} == {"vega-lite"}
        for chart in found["charts"]:
            assert {row[0] for row in chart["table"]["rows"]} == {"A", "B"}


def test_two_to_six_known_runs_are_wanted(own: tuple[str, str, str]) -> None:
    url, first, _ = own
    with httpx.Client(base_url=url, timeout=60) as client:
        problem(client.get("/v1/compare"), 422, "invalid-input")
        problem(client.get("/v1/compare", params={"run": [first, first]}), 422, "invalid-input")
        seven = [first, *(f"20260101-120000-a1b2c{number}" for number in range(6))]
        problem(client.get("/v1/compare", params={"run": seven}), 422, "invalid-input")
        problem(client.get("/v1/compare", params={"run": seven[:2]}), 404, "not-found")
        problem(client.get("/v1/compare", params={"run": [first, "a/b"]}), 422, "invalid-input")
