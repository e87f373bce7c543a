"""The list of runs in a real browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from leakrange.services.controller.pages import home
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import Database
from leakrange.store.migrate import upgrade
from leakrange.store.runs import RunStore
from leakrange.wire.runs import State
from tests.controller.conftest import SCENARIO, Api, serve
from tests.pages.conftest import opened
from tests.pages.threads import awaited


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark"), (3840, "light")])
def test_it_shows_runs_and_follows_them_live(browser: Browser, api: Api, width: int, scheme: str) -> None:
    name = "x" * 60 if width == 320 else f"on-the-page-{width}"
    run = api.start(SCENARIO.replace("name: small", f"name: {name}"))
    with opened(browser, str(api.client.base_url), width=width, scheme=scheme) as tab:
        row = tab.locator("tbody tr").filter(has=tab.locator(f"[id='run-{run}']"))
        expect(row.locator("th a")).to_have_text(name)
        expect(row.locator(".chip")).to_have_text("running")
        assert row.locator("a").evaluate_all("all => all.map(it => it.getAttribute('href'))") == [
            f"/runs/{run}",
            f"/runs/{run}/board",
            f"/v1/runs/{run}/report",
            f"/v1/runs/{run}/results?format=csv",
        ]
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        api.cancel(run)
        expect(row.locator(".chip")).to_have_text("cancelled")  # without a reload


@pytest.fixture(scope="module")
def listed(settings: Callable[..., ControllerSettings]) -> Iterator[str]:
    """The URL of a controller with runs that have ended, made in this order: the name and state of each, and
    the grade of its worst leak."""
    made = settings()
    ended: list[tuple[str, State, Any]] = [
        ("beard", "done", {"grade": "E", "sentence": "“a” gives away “beard”", "rank": 5.5}),
        ("adult", "done", {"grade": "A", "sentence": "No leak found", "rank": 0.0}),
        ("beards-again", "failed", None),
    ]

    async def fill() -> None:
        await asyncio.to_thread(upgrade, made.database_url)
        database = Database(made.database_url)
        for name, state, leak in ended:
            async with database.write() as session:
                runs = RunStore(session)
                run = await runs.create(name, scenario_yaml="", scenario={})
                await runs.move(run.id, "running")
                await runs.move(run.id, state, leak=leak, error="no memory" if state == "failed" else None)
        await database.close()

    awaited(fill())
    with serve(made) as url:
        yield url


def names(url: str, **query: str | int) -> list[str]:
    return re.findall(r'<a id="run-[^>]*>([^<]*)<', httpx.get(f"{url}/", params=query).text)


def test_runs_are_narrowed_and_sorted_without_a_script(listed: str) -> None:
    assert names(listed) == ["beards-again", "adult", "beard"]
    assert names(listed, text="BEARD") == ["beards-again", "beard"]
    assert names(listed, text="beard", state="done") == ["beard"]
    assert names(listed, by="leak") == ["beard", "adult", "beards-again"]
    assert names(listed, by="name", down="false") == ["adult", "beard", "beards-again"]
    assert "No run is like that" in httpx.get(f"{listed}/", params={"text": "<b>"}).text
    assert httpx.get(f"{listed}/", params={"by": "nothing"}).status_code == 422
    assert httpx.get(f"{listed}/", params={"text": "\0"}).status_code == 422


def test_the_worst_leak_stands_beside_each_run(browser: Browser, listed: str) -> None:
    with opened(browser, listed) as tab:
        tab.get_by_role("link", name="Worst leak").click()
        column = tab.get_by_role("columnheader", name="Worst leak")
        expect(column).to_have_attribute("aria-sort", "descending")
        rows = tab.locator("tbody tr")
        expect(rows.first).to_contain_text("E“a” gives away “beard”")
        expect(rows.nth(2)).to_contain_text("no memory")
        tab.get_by_role("link", name="Worst leak").click()
        expect(rows.first).to_contain_text("No leak found")
        tab.get_by_label("Name").fill("beard")
        tab.get_by_label("State").select_option("done")
        tab.get_by_role("button", name="Show").click()
        expect(rows).to_have_count(1)
        expect(column).to_have_attribute("aria-sort", "ascending")
        tab.get_by_role("link", name="Show all").click()
        expect(rows).to_have_count(3)


def test_the_list_stays_as_it_is_while_nothing_changes(api: Api) -> None:
    api.cancel(api.start())
    page = api.client.get("/", headers={"Accept": "text/html"}).text
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert api.client.get(again).status_code == 204
    api.cancel(api.start(SCENARIO.replace("name: small", "name: another")))
    changed = api.client.get(again)
    assert changed.status_code == 200
    assert "another" in changed.text


def test_older_runs_are_a_page_further(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "A_PAGE", 2)
    page = httpx.get(listed).text
    assert "1 to 2 of 3\N{NO-BREAK SPACE}runs" in page
    assert names(listed) == ["beards-again", "adult"]
    assert names(listed, start=2) == ["beard"]
    assert 'href="/?start=2">Further' in page


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
