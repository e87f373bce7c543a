"""The page for visitors: where nothing can be tried yet, and on a range with a run that can."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.controller.conftest import Api
from tests.embedded import EmbeddedRange
from tests.pages.conftest import opened
from tests.range.conftest import Controller, Finished, controller
from tests.range.victim import run

__all__ = ["controller", "run"]

pytestmark = pytest.mark.timeout(900)


def test_an_operator_starts_what_visitors_can_try(browser: Browser, site: str, api: Api) -> None:
    with opened(browser, f"{site}/victim") as page:
        expect(page.get_by_role("heading", name="Try it as a victim")).to_be_visible()
        expect(page.get_by_role("main")).to_contain_text("An operator can train them")
        expect(page.get_by_role("button", name="Train them")).to_have_count(0)
    with opened(browser, f"{site}/victim", operator=True) as page:
        page.get_by_role("button", name="Train them").click()
        expect(page.get_by_role("status")).to_contain_text("0 of 32 trials")
        [run] = [each for each in api.get("/v1/runs?limit=50")["runs"] if each["name"] == "victim"]
        expect(page.get_by_role("link", name="They are being trained")).to_have_attribute(
            "href", re.compile(rf"^/in/[\w-]+/runs/{run['id']}$")
        )
        api.cancel(run["id"])


def test_only_operators_start_it(api: Api) -> None:
    answer = api.ask("POST", "/victim/start")
    assert answer.status_code == 401
    assert all(run["name"] != "victim" or run["state"] == "cancelled" for run in api.get("/v1/runs")["runs"])


@pytest.fixture
def place(embedded_range: EmbeddedRange, run: Finished) -> str:
    return f"{embedded_range.record.controller}/victim/{run.id}"


def stroke(page: Page, *points: tuple[float, float]) -> None:
    """Draw with the mouse, in shares of the paper's side."""
    paper = page.locator("#paper")
    paper.scroll_into_view_if_needed()
    box = paper.bounding_box()
    assert box is not None
    for number, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=8)
        if number == 0:
            page.mouse.down()
    page.mouse.up()


def row(page: Page, defence: str) -> Any:
    return page.locator(".releases tbody tr").filter(has=page.get_by_role("rowheader", name=defence))


def test_a_digit_is_drawn_with_the_mouse_and_each_defence_is_told(browser: Browser, place: str) -> None:
    with opened(browser, place) as page:
        release = page.get_by_role("button", name="Release my drawing")
        expect(release).to_be_disabled()
        stroke(page, (0.35, 0.2), (0.68, 0.2), (0.45, 0.85))
        stroke(page, (0.4, 0.5), (0.68, 0.5))
        page.get_by_label("Which digit is it?").select_option("7")
        before = int(page.locator("#left").inner_text().replace(",", ""))
        release.click()
        expect(page.locator("#told-title")).to_be_focused()
        rows = page.locator(".releases tbody tr")
        expect(rows).to_have_count(3)
        expect(page.locator(".told .facts")).to_contain_text("digit: 7")
        expect(page.locator("#left")).to_have_text(f"{before - 9:,}")
        drawn = row(page, "label-only").locator("svg.bars").first
        expect(drawn).to_have_attribute("aria-label", re.compile("^10 numbers: digit 0: 0"))
        page.get_by_role("button", name="Clear").click()
        expect(release).to_be_disabled()


def test_a_ready_digit_is_picked_with_the_keyboard(browser: Browser, place: str) -> None:
    with opened(browser, place, width=320, scheme="dark") as page:
        four = page.get_by_role("button", name="the digit 4")
        four.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#told-title")).to_be_focused()
        expect(four).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".told .facts")).to_contain_text("digit: 4")
        vicious = row(page, "none").locator("td[data-provider='The vicious provider']")
        expect(vicious.get_by_role("img", name="what its decoder drew")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_without_scripts_a_ready_digit_can_be_released(controller: Controller, run: Finished) -> None:
    path = f"/victim/{run.id}/try?data=digits"
    browsing = {"Accept": "text/html"}
    answer = controller.client.post(path, data={"data": "digits", "place": "5"}, headers=browsing)
    assert answer.status_code == 200
    assert "What one release told" in answer.text
    assert answer.text.startswith("<!DOCTYPE html>")
    empty = controller.client.post(path, data={"data": "digits", "drawing": ""}, headers=browsing)
    assert empty.status_code == 422
    assert "nothing is drawn yet" in empty.text


def test_what_goes_wrong_is_told_on_the_page(browser: Browser, place: str) -> None:
    refused = re.compile("422")
    heard: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: heard.append(message.text))
    page.goto(place)
    stroke(page, (0.5, 0.5))
    # A script of the visitor's own sends something else than a drawing.
    page.evaluate("document.querySelector('[name=drawing]').value = 'AAAA'")
    page.get_by_role("button", name="Release my drawing").click()
    expect(page.get_by_role("alert")).to_contain_text("is not a PNG or JPEG")
    assert page.locator(".told").count() == 0
    page.close()
    assert all(refused.search(text) or "400" in text for text in heard)
