"""An audit of every page by axe-core: no serious finding, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from playwright.sync_api import Browser, Page

from leakrange.services.controller.pages.navigation import MENU
from tests.pages.conftest import below_login, opened
from tests.pages.furnished import RECIPE, Place

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
EVERYTHING = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast",)
ASK = """rules => axe.run(document, {
  resultTypes: ["violations"],
  runOnly: rules,
}).then(({ violations }) => violations.map(it => [it.impact, it.id,
  it.nodes.map(node => node.html.slice(0, 200) + " " + node.failureSummary).slice(0, 3)]))"""
OPEN = """() => {
  for (const each of [...document.querySelectorAll("details")].slice(0, 6)) each.open = true;
}"""
SERIOUS = ("serious", "critical")


def findings(tab: Page, rules: Sequence[str] = EVERYTHING) -> list[object]:
    """What axe-core finds on the page by these rules, of its two gravest kinds."""
    tab.evaluate(AXE)
    return [found for found in tab.evaluate(ASK, list(rules)) if found[0] in SERIOUS]


def paths(place: Place) -> list[str]:
    """Every page: those of the menu, and one of each kind that they lead to."""
    run, other = place.runs
    return [
        *(entry.path for entry in MENU),
        "/login",
        "/scenarios/form",
        f"/models/{RECIPE.digest()}",
        f"/audits/{place.passed}",
        f"/audits/{place.failed}",
        "/audits/endpoint",
        f"/audits/endpoint/{place.leaky}",
        f"/runs/{run}",
        f"/runs/{run}/board",
        f"/scenarios/new?from={run}",
        f"/compare?run={run}&run={other}",
    ]


def test_no_page_keeps_anybody_out(browser: Browser, place: Place) -> None:
    found = {}
    with opened(browser, place.url, operator=True) as tab:
        for path in paths(place):
            tab.emulate_media(color_scheme="light")
            tab.goto(below_login(tab, place.url + path))
            tab.evaluate(OPEN)
            if path.endswith("/board"):
                tab.wait_for_load_state("networkidle")  # its charts are drawn
            found[path, "light"] = findings(tab)
            tab.emulate_media(color_scheme="dark")
            found[path, "dark"] = findings(tab, COLOURS)
    assert {path: each for path, each in found.items() if each} == {}


def test_the_audit_sees_what_is_wrong(browser: Browser, place: Place) -> None:
    with opened(browser, place.url) as tab:
        tab.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=\"/static/x/icon.svg\"><input>')"
        )
        assert {found[1] for found in findings(tab)} == {"image-alt", "label"}
