"""Cancelling a run and running it again, by an operator's forms."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.controller.conftest import SCENARIO, Api
from tests.pages.conftest import opened
from tests.pages.logins import login, plain, token


@pytest.fixture
def operator(site: str) -> Iterator[httpx.Client]:
    with login(site) as client:
        yield client


def test_a_run_is_cancelled_from_the_list_after_a_second_look(browser: Browser, api: Api) -> None:
    run = api.start(SCENARIO.replace("name: small", "name: to-be-cancelled"))
    with opened(browser, str(api.client.base_url), operator=True) as tab:
        led: list[str] = []

        def stay(route: Route) -> None:
            led.append(route.fetch(max_redirects=0).headers["location"])
            route.fulfill(body="on the way", content_type="text/plain")

        tab.route("**/cancel", stay)
        asked = tab.locator(f"[id='cancel-{run}']")
        expect(asked.get_by_role("button")).to_be_hidden()
        asked.locator("summary").click()
        asked.get_by_role("button", name="Cancel to-be-cancelled").click()
        expect(tab.get_by_text("on the way")).to_be_visible()
    assert list(map(plain, led)) == [f"/runs/{run}"]
    assert api.get(f"/v1/runs/{run}")["state"] == "cancelled"


def test_nobody_else_is_offered_to_cancel(browser: Browser, api: Api) -> None:
    run = api.start()
    with opened(browser, str(api.client.base_url)) as tab:
        expect(tab.locator(f"[id='run-{run}']")).to_be_visible()
        expect(tab.locator(f"[id='cancel-{run}']")).to_have_count(0)
    for action in ("cancel", "again"):
        assert api.client.post(f"/runs/{run}/{action}").status_code == 401
    assert api.get(f"/v1/runs/{run}")["state"] in ("queued", "running")


def test_a_run_is_run_again_as_it_was_written(api: Api, operator: httpx.Client) -> None:
    first = api.start("# one\n" + SCENARIO)
    assert operator.post(f"/runs/{first}/again").status_code == 403  # without the form's token
    answer = operator.post(f"/runs/{first}/again", data={"csrf": token(operator)})
    assert answer.status_code == 303
    second = plain(answer.headers["location"]).removeprefix("/runs/")
    assert second != first
    assert api.get(f"/v1/runs/{second}")["origin"] == first
    assert api.get(f"/v1/runs/{second}/results")["scenario_yaml"] == "# one\n" + SCENARIO
    missing = operator.post("/runs/20260101-120000-a1b2c3/again", data={"csrf": token(operator)})
    assert missing.status_code == 404


def test_both_runs_tell_that_one_came_from_the_other(browser: Browser, api: Api) -> None:
    first = api.start()
    second = api.post(params={"origin": first}).json()["id"]
    home = str(api.client.base_url)
    with opened(browser, f"{home}/runs/{first}", width=390) as tab:
        offered = tab.locator(".run-actions")
        assert offered.get_by_role("button").count() == 0  # nobody has logged in
        offered.get_by_text("Run with one change").click()
        links = offered.get_by_role("link").evaluate_all("all => all.map(it => it.getAttribute('href'))")
        assert f"/scenarios/new?from={first}&at=defences" in links
        assert f"/compare?run={first}&run={second}" in links
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        offered.get_by_role("link", name=second, exact=True).click()
        expect(offered).to_contain_text(f"Its scenario was taken from {first}")
        compare = offered.get_by_role("link", name="Compare with its origin")
        expect(compare).to_have_attribute("href", f"/compare?run={first}&run={second}")
