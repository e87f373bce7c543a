"""The page as a browser shows it, wide and on a phone, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from leakrange.report import render
from tests.browsers import chromium, needs_chromium
from tests.report.build import run, trials
from tests.report.reconstructed import reconstructed, trial
from tests.report.test_page import HOSTILE

pytestmark = needs_chromium

CHARTS = """() => [...document.querySelectorAll("svg.chart")].map(svg => {
  const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
  const written = [...svg.querySelectorAll("text")], texts = written.map(t => t.getBoundingClientRect());
  return {
    width: box.width, height: box.height,
    marks: svg.querySelectorAll("path, line, rect").length,
    font: scale * Math.min(...written.map(t => parseFloat(getComputedStyle(t).fontSize))),
    cut: texts.some(t => t.left < box.left - 1 || t.right > box.right + 1)
      || texts.some(t => t.top < box.top - 1 || t.bottom > box.bottom + 1),
    label: svg.getAttribute("aria-label").slice(0, 60),
  };
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(page: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@contextmanager
def opened(browser: Browser, address: str, width: int, scheme: str = "light") -> Iterator[Page]:
    """The page in a window of that width; fails on any message, error or request but the page's own."""
    heard: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    tab = context.new_page()
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on("request", lambda request: heard.append(request.url) if request.url != address else None)
    tab.goto(address)
    yield tab
    context.close()
    assert heard == []


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_every_chart_is_drawn_legibly(browser: Browser, address: str, width: int) -> None:
    with opened(browser, address, width) as tab:
        tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate("document.body.scrollWidth") <= width
        charts = tab.evaluate(CHARTS)
        assert len(charts) == 72
        for chart in charts:
            assert chart["width"] > 200, chart
            assert chart["height"] > 100, chart
            assert chart["marks"] > 5, chart
            assert chart["font"] >= 10.9, chart
            assert not chart["cut"], chart


def test_text_and_charts_turn_light_in_the_dark(browser: Browser, address: str) -> None:
    lightness = {}
    for scheme in ("light", "dark"):
        with opened(browser, address, 1280, scheme) as tab:
            lightness[scheme] = tab.evaluate(
                """() => [["body", "backgroundColor"], ["h1", "color"], ["svg.chart text", "fill"]].map(
                  ([selector, property]) => getComputedStyle(document.querySelector(selector))[property]
                    .match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0))"""
            )
    (page, title, chart), (dark_page, dark_title, dark_chart) = lightness["light"], lightness["dark"]
    assert page > 600 > 350 > max(title, chart)
    assert dark_page < 150 < 450 < min(dark_title, dark_chart)


PICTURES = """() => Promise.all([...document.querySelectorAll("svg.gallery image")].map(async image => {
  const loaded = new Image(), box = image.getBoundingClientRect();
  loaded.src = image.getAttribute("href");
  await loaded.decode();
  return {
    natural: loaded.naturalWidth / loaded.naturalHeight, drawn: box.width / box.height,
    width: box.width, scaling: getComputedStyle(image).imageRendering,
  };
}))"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_reconstructions_are_shown_whole_and_by_their_pixels(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    few = [
        trial("vicious", "none", "inside", "unaware", 0),
        trial("vicious", "argmax", "outside", "aware", 0),
    ]
    path = tmp_path / "reconstructed.html"
    path.write_text(render(reconstructed(*few)), encoding="utf-8")
    with opened(browser, path.as_uri(), width, scheme) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        shown = tab.evaluate(PICTURES)
        assert len(shown) == 3
        for picture in shown:
            assert picture["natural"] == pytest.approx(picture["drawn"], rel=0.01)
            assert picture["width"] > 280
            assert picture["scaling"] == "pixelated"
        [gallery] = [chart for chart in tab.evaluate(CHARTS) if chart["label"].startswith("Inputs of users")]
        assert gallery["font"] >= 10.9
        assert not gallery["cut"]


def test_the_table_sorts_and_filters(browser: Browser, address: str) -> None:
    with opened(browser, address, 1280) as tab:
        column = "[...document.querySelectorAll('#all-results tbody tr')].map(r => +r.cells[6].dataset.order)"
        tab.get_by_role("heading", name="All results").click()
        heading = tab.locator("#all-results thead th", has_text="curiosity").locator("button")
        heading.click()
        rising = tab.evaluate(column)
        heading.click()
        assert rising == sorted(rising)
        assert tab.evaluate(column) == rising[::-1]
        tab.get_by_label("Show rows with").fill("parameterized-raw argmax")
        shown = tab.locator("#all-results tbody tr:visible")
        assert shown.count() == 4
        assert tab.locator("output").inner_text() == "4 of 120 rows"


def test_a_hostile_scenario_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    found = [trial.model_copy(update={"provider": HOSTILE, "data": HOSTILE}) for trial in trials()[:8]]
    path = tmp_path / "hostile.html"
    path.write_text(render(run(name=HOSTILE, trials=found, models=[])), encoding="utf-8")
    with opened(browser, path.as_uri(), 390) as tab:
        assert tab.evaluate("window.hacked") is None
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.locator("h1").inner_text() == HOSTILE
