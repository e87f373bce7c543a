"""The list of runs in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Browser, expect

from leakrange.services.controller.pages import home
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import SCENARIO, Api, serve
from tests.pages.conftest import opened


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark"), (3840, "light")])
def test_it_shows_runs_and_follows_them_live(browser: Browser, api: Api, width: int, scheme: str) -> None:
    name = "x" * 60 if width == 320 else f"on-the-page-{width}"
    run = api.start(SCENARIO.replace("name: small", f"name: {name}"))
    with opened(browser, str(api.client.base_url), width=width, scheme=scheme) as tab:
        card = tab.get_by_role("listitem").filter(has=tab.locator(f"[id='run-{run}']"))
        expect(card.get_by_role("heading")).to_have_text(name)
        expect(card.locator(".chip")).to_have_text("running")
        assert card.get_by_role("link").evaluate_all("all => all.map(it => it.getAttribute('href'))") == [
            f"/runs/{run}",
            f"/runs/{run}/board",
            f"/v1/runs/{run}/report",
            f"/v1/runs/{run}/results?format=csv",
        ]
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        api.cancel(run)
        expect(card.locator(".chip")).to_have_text("cancelled")  # without a reload


def test_the_list_stays_as_it_is_while_nothing_changes(api: Api) -> None:
    api.cancel(api.start())
    page = api.client.get("/", headers={"Accept": "text/html"}).text
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert api.client.get(again).status_code == 204
    api.cancel(api.start(SCENARIO.replace("name: small", "name: another")))
    changed = api.client.get(again)
    assert changed.status_code == 200
    assert "another" in changed.text


def test_older_runs_are_a_page_further(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "A_PAGE", 1)
    first, second = api.start(), api.start()
    newest = api.client.get("/").text
    assert second in newest
    assert first not in newest
    older = api.client.get("/", params={"after": second}).text
    assert first in older
    assert f"run-{second}" not in older


def test_an_empty_range_says_what_to_do(settings: Callable[..., ControllerSettings]) -> None:
    with serve(settings()) as url:
        assert "leakrange run scenarios/demo.yaml" in httpx.get(url).text


def test_the_first_page_is_small_and_comes_from_here_alone(browser: Browser, site: str) -> None:
    loaded: dict[str, int] = {}
    with opened(browser, site) as tab:
        tab.on("response", lambda it: loaded.update({it.url: len(it.body())}))
        tab.reload()
        tab.wait_for_load_state("networkidle")
    assert all(url.startswith(site) for url in loaded)
    assert {url.rpartition("/")[2] for url in loaded} >= {"page.css", "frame.css", "htmx.min.js"}
    assert sum(loaded.values()) < 300_000
