"""The page at ``/`` in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.controller.conftest import SCENARIO, Api

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs the `chromium` command (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield found
        found.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_it_shows_runs_and_follows_them_live(browser: Browser, api: Api, width: int) -> None:
    name = "x" * 60 if width == 390 else "on-the-page"
    run = api.start(SCENARIO.replace("name: small", f"name: {name}"))
    heard: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 844})
    tab = context.new_page()
    tab.set_default_timeout(60_000)
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on(
        "requestfailed", lambda request: heard.append(request.url) if "/events" not in request.url else None
    )
    tab.goto(str(api.client.base_url))
    card = tab.locator("section.run", has_text=run)
    expect(card.locator("h2")).to_have_text(name)
    expect(card.locator(".state")).to_have_text("running")
    assert card.get_by_role("link").evaluate_all("links => links.map(link => link.getAttribute('href'))") == [
        f"/v1/runs/{run}/{path}" for path in ("report", "results", "results?format=csv", "events")
    ]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    api.cancel(run)
    expect(card.locator(".state")).to_have_text("cancelled")  # without a reload
    context.close()
    assert heard == []


def test_a_page_without_runs_says_what_to_do(browser: Browser, api: Api) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.route("**/v1/runs?*", lambda route: route.fulfill(json={"runs": [], "next": None}))
    tab.goto(str(api.client.base_url))
    expect(tab.locator("#runs")).to_contain_text("leakrange run")
    context.close()
