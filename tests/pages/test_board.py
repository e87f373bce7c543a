"""The leak board in a real browser."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import SCENARIO, Api, serve
from tests.controller.test_views import put
from tests.pages.conftest import opened
from tests.report.build import run, trials
from tests.report.reconstructed import reconstructed
from tests.report.reconstructed import trial as restored


@pytest.fixture(scope="module")
def own(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[ControllerSettings, str]]:
    made = settings()
    with serve(made) as url:
        yield made, url


@pytest.fixture(scope="module")
def address(own: tuple[ControllerSettings, str]) -> str:
    few = [trial for trial in trials() if trial.data == "digits"]
    return f"{own[1]}/runs/{put(own[0], run(trials=few, models=[]))}/board"


def drawn(tab: Page, anchor: str) -> None:
    """Open a section and wait until its charts are there."""
    if tab.locator(f"#{anchor}-fold").get_attribute("open") is None:
        tab.locator(f"#{anchor}-fold > summary").click()
    tab.locator(f"#{anchor}").scroll_into_view_if_needed()
    expect(tab.locator(f"#{anchor} .drawing svg").first).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark"), (3840, "light")])
def test_it_says_what_leaked_and_draws_charts_as_they_come_into_view(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    with opened(browser, address, width=width, scheme=scheme) as tab:
        expect(tab.get_by_role("heading", name="The answer")).to_be_visible()
        expect(tab.locator(".headline")).to_contain_text("give away “loop”")
        tab.get_by_role("link", name="In detail").click()
        expect(tab.locator(".answer p").nth(1)).to_contain_text("guesses “loop” right")
        assert tab.locator("#adaptivity .drawing svg").count() == 0
        drawn(tab, "plane")
        drawn(tab, "adaptivity")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        mark = tab.locator("#plane .drawing svg path[aria-roledescription='point']").first
        fill = mark.evaluate("it => getComputedStyle(it).fill")
        light, dark = "rgb(207, 106, 18)", "rgb(238, 122, 43)"  # --s0 of either theme
        assert fill == (dark if scheme == "dark" else light)


def test_a_chart_has_tips_table_definition_and_file_by_keyboard(browser: Browser, address: str) -> None:
    with opened(browser, address) as tab:
        drawn(tab, "roc-low")
        figure = tab.locator("#roc-low figure").first
        figure.locator("svg path[aria-roledescription='point']").last.hover()
        expect(tab.locator("#vg-tooltip-element")).to_contain_text("found at 1 %")
        figure.get_by_label("Definition of").focus()
        tab.keyboard.press("Enter")
        expect(figure.locator(".definition")).to_contain_text("share of the negatives")
        figure.get_by_label("Table of").focus()
        tab.keyboard.press("Enter")
        expect(figure.locator(".rows tbody tr").first).to_be_visible()
        with tab.expect_download() as saved:
            figure.get_by_label("as CSV").click()
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        assert saved.value.suggested_filename.endswith(".csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["defence"] for row in rows} == {"none", "rounded", "noise", "top-1", "argmax"}


def test_a_part_of_the_run_is_shown_without_a_reload_and_by_its_address(
    browser: Browser, address: str
) -> None:
    with opened(browser, address) as tab:
        drawn(tab, "plane")
        before = tab.locator("#plane figure").get_attribute("data-digest")
        tab.evaluate("window.same = true")
        tab.get_by_text("Show a part of the run").click()
        tab.get_by_label("digits-regularized", exact=True).check()
        expect(tab.locator("#glance tbody tr:not(.band)")).to_have_count(1)
        expect(tab).to_have_url(re.compile(r"\?provider=digits-regularized$"))
        assert tab.evaluate("window.same") is True
        assert tab.locator("#plane figure").get_attribute("data-digest") != before
        drawn(tab, "plane")
        part = tab.url
    assert httpx.get(part).text.count("<figure") < httpx.get(address).text.count("<figure")


def test_reconstructions_are_sorted_by_a_figure_with_their_originals(
    browser: Browser, own: tuple[ControllerSettings, str]
) -> None:
    held = [
        restored("vicious", "none", "inside", "unaware", 0),
        restored("vicious", "noise", "outside", "aware", 0),
    ]
    board = f"{own[1]}/runs/{put(own[0], reconstructed(*held))}/board"
    figures = held[0].views["reconstructions"]["psnr"]
    expected = sorted(range(len(figures)), key=lambda user: -figures[user])
    assert expected != sorted(expected)
    with opened(browser, board) as tab:
        tab.locator("#reconstructions-fold > summary").click()
        figure = tab.locator("#reconstructions figure").first
        figure.get_by_label("Users in the order of").select_option(label="PSNR, none")
        users = "all => all.map(li => +li.dataset.user)"
        for strip in range(3):
            assert figure.locator(f"[data-strip='{strip}'] li").evaluate_all(users) == expected
        expect(figure.locator("[data-strip='1'] li small").first).to_have_text(f"{max(figures):.1f}")
        figure.get_by_label("least leaked first").check()
        assert figure.locator("[data-strip='0'] li").evaluate_all(users) == expected[::-1]
        loaded = figure.locator("[data-strip='1'] .pixels").first.evaluate(
            """async it => {
              const address = getComputedStyle(it).backgroundImage.slice(5, -2);
              return (await fetch(address)).headers.get("content-type");
            }"""
        )
        assert loaded == "image/png"


def test_a_run_that_goes_on_is_followed_and_nothing_moves(browser: Browser, api: Api) -> None:
    started = api.start(SCENARIO.replace("name: small", "name: followed"))
    with opened(browser, f"{api.client.base_url}/runs/{started}/board") as tab:
        expect(tab.locator("#board .banner")).to_contain_text("The run goes on: 0 of 8")
        tab.locator("html[data-board=ready]").wait_for(state="attached")
        tab.evaluate("window.scrollTo(0, 120)")
        api.cancel(started)
        expect(tab.locator("#board .chip")).to_have_text("cancelled")
        assert tab.evaluate("window.scrollY") == 120
        expect(tab.locator("#board-news")).to_contain_text("8\N{NO-BREAK SPACE}trials cancelled")


def test_charts_that_stay_are_kept_with_what_is_open_in_them(browser: Browser, address: str) -> None:
    with opened(browser, address) as tab:
        drawn(tab, "plane")
        figure = tab.locator("#plane figure")
        figure.get_by_label("Definition of").click()
        figure.locator(".drawing svg").evaluate("it => { it.kept = true }")
        at = tab.evaluate("window.scrollY")
        # All parts come again, as when the run moves on.
        tab.evaluate("document.getElementById('narrowing').dispatchEvent(new Event('change'))")
        expect(tab.locator("#board-news")).to_contain_text("Up to date")
        assert figure.locator(".drawing svg").evaluate("it => it.kept") is True
        expect(figure.locator(".definition")).to_be_visible()
        assert tab.evaluate("window.scrollY") == at


def test_without_scripts_it_shows_the_same_charts_as_pictures(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 844})
    tab = context.new_page()
    tab.goto(address)
    picture = tab.locator("#plane img").first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible()
    assert tab.request.get(str(httpx.URL(address).join(str(picture.get_attribute("src"))))).ok
    tab.get_by_text("Show a part of the run").click()
    tab.get_by_label("digits-regularized", exact=True).check()
    tab.get_by_role("button", name="Show these").click()
    expect(tab.locator("#glance tbody tr:not(.band)")).to_have_count(1)
    context.close()
