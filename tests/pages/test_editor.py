"""The editor of scenarios in a real browser, and its form without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from leakrange.scenario.shipped import shipped
from tests.controller.conftest import SCENARIO, Api
from tests.pages.conftest import opened
from tests.pages.logins import plain

HTML = {"Accept": "text/html"}


@contextmanager
def editor(browser: Browser, site: str, source: str = "", **more: object) -> Iterator[Page]:
    with opened(browser, f"{site}/scenarios/new{source}", **more) as tab:  # type: ignore[arg-type]
        expect(tab.locator(".gutter span").first).to_have_text("1")
        yield tab


def write(tab: Page, text: str) -> None:
    """In place of everything, at once, so that the script hears of it as of a paste."""
    tab.get_by_label("Scenario", exact=True).focus()
    tab.keyboard.press("Control+A")
    tab.keyboard.insert_text(text)


def written(tab: Page) -> str:
    return tab.get_by_label("Scenario", exact=True).input_value()


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_ready_scenarios_open_in_the_editor(browser: Browser, site: str, width: int, scheme: str) -> None:
    with opened(browser, f"{site}/scenarios", width=width, scheme=scheme) as tab:
        assert tab.get_by_role("main").get_by_role("listitem").count() == len(shipped())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.get_by_role("link", name="demo").click()
        expect(tab.get_by_role("heading", name="No mistakes")).to_be_visible()
        assert written(tab) == shipped()["demo"].text
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        told = tab.locator("#checked").inner_text()
        assert "212" in told
        assert tab.locator(".gutter span").count() == shipped()["demo"].text.count("\n") + 1


def test_mistakes_stand_at_their_lines_and_lead_there(browser: Browser, site: str) -> None:
    with editor(browser, site) as tab:
        write(tab, SCENARIO.replace("digits", "digit"))
        mistakes = tab.locator("#checked li")
        expect(mistakes.first).to_contain_text("unknown data set 'digit'")
        expect(tab.locator("#spoken")).to_contain_text("Line 3:")
        expect(tab.locator(".gutter .wrong")).to_have_text("3")
        mistakes.first.get_by_role("link").click()
        place = tab.evaluate("(it => it.value.slice(0, it.selectionStart))(document.getElementById('text'))")
        assert place.endswith("data: {name: ")
        tab.keyboard.press("Shift+End")
        tab.keyboard.insert_text("digits, size: 16}")
        expect(tab.get_by_role("heading", name="No mistakes")).to_be_visible()
        expect(tab.locator(".gutter .wrong")).to_have_count(0)


def test_proposals_are_chosen_by_keys_and_can_be_undone(browser: Browser, site: str) -> None:
    with editor(browser, site) as tab:
        tab.clock.install()
        write(tab, "data: {name: digits, size: 16}\nproviders:\n  δ: {target: ")
        tab.keyboard.press("Control+Space")
        options = tab.get_by_role("option")
        expect(options.first).to_contain_text("digit")
        text = tab.get_by_label("Scenario", exact=True)
        expect(text).to_have_attribute("aria-activedescendant", "proposal-0")
        tab.keyboard.press("ArrowDown")
        tab.clock.run_for(1000)  # the proposals that come by themselves while one writes
        tab.evaluate("fetch('/healthz').then(it => it.text())")  # by now they would have come
        expect(tab.get_by_role("option", selected=True)).to_contain_text("parity")
        tab.keyboard.press("Enter")
        assert written(tab).endswith("{target: parity")
        expect(options.first).to_be_hidden()
        tab.keyboard.press("Control+Z")
        assert written(tab).endswith("{target: ")
        tab.keyboard.type("sl")  # while typing
        expect(options).to_have_count(1)
        tab.keyboard.press("Escape")
        expect(options.first).to_be_hidden()
        assert written(tab).endswith("{target: sl")


def test_tab_indents_and_escape_lets_it_leave(browser: Browser, site: str) -> None:
    with editor(browser, site) as tab:
        write(tab, "attacks:")
        tab.keyboard.press("Enter")
        assert written(tab) == "attacks:\n  "
        tab.keyboard.press("Tab")
        assert written(tab) == "attacks:\n    "
        tab.keyboard.press("Shift+Tab")
        assert written(tab) == "attacks:\n  "
        tab.keyboard.press("Escape")
        tab.keyboard.press("Tab")
        expect(tab.get_by_label("Scenario", exact=True)).not_to_be_focused()


def test_a_run_is_started_with_one_change_and_remembers_its_origin(browser: Browser, api: Api) -> None:
    first = api.start()
    with editor(browser, str(api.client.base_url), f"?from={first}&at=budgets", operator=True) as tab:
        expect(tab.get_by_text("Nothing yet.")).to_be_visible()
        line = tab.evaluate(
            "(it => it.value.slice(it.selectionStart).split('\\n')[0])(document.getElementById('text'))"
        )
        assert line == "budgets: [64]"  # the caret stands at what is to be changed
        tab.keyboard.press("Shift+End")
        tab.keyboard.insert_text("budgets: [32, 64]")
        expect(tab.locator(".changes .new")).to_have_text("+ budgets: [32, 64]")
        expect(tab.locator(".changes .gone")).to_have_text("− budgets: [64]")
        led: list[str] = []

        def stay(route: Route) -> None:
            led.append(plain(route.fetch(max_redirects=0).headers["location"]))
            route.fulfill(body="on the way", content_type="text/plain")

        tab.route("**/scenarios/start", stay)
        tab.get_by_role("button", name="Start the run").click()
        expect(tab.get_by_text("on the way")).to_be_visible()
    view = api.get(f"/v1{led[0]}")
    assert view["origin"] == first
    assert view["trials"]["total"] in (0, 16)  # stored as soon as it begins
    assert api.get(f"/v1{led[0]}/results")["scenario"]["budgets"] == [32, 64]


def test_it_works_without_scripts(site: str) -> None:
    page = httpx.get(f"{site}/scenarios/new", headers=HTML).text
    assert "No mistakes" in page  # what it begins with is right
    assert "Start the run" not in page
    wrong = httpx.post(f"{site}/scenarios/check", data={"text": SCENARIO.replace("digits", "digit")})
    assert wrong.status_code == 200
    assert "unknown data set &#39;digit&#39;" in wrong.text
    assert "name: digit, size" in wrong.text  # what was written is still there


def test_only_an_operator_starts(site: str) -> None:
    assert httpx.post(f"{site}/scenarios/start", data={"text": SCENARIO}).status_code == 401


@pytest.mark.parametrize("source", ["no-such-scenario", "20260101-120000-a1b2c3"])
def test_an_unknown_source_is_said_so(site: str, source: str) -> None:
    assert httpx.get(f"{site}/scenarios/new", params={"from": source}, headers=HTML).status_code == 404


def test_markup_in_a_scenario_stays_text(browser: Browser, site: str) -> None:
    with editor(browser, site) as tab:
        write(tab, "name: <img src=x onerror=alert(1)>\n# </textarea><script>alert(1)</script>\n")
        expect(tab.locator("#checked li").first).to_be_visible()
        assert tab.locator(".tint img, .tint script, #checked img, #checked script").count() == 0
        assert written(tab).startswith("name: <img")
