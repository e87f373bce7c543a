"""Reconstructions of a run over the API, and on the page at ``/``."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from leakrange.scenario.results import TrialResult
from leakrange.store.engine import Database
from leakrange.store.trials import Trials
from services.controller.settings import ControllerSettings
from tests.controller.conftest import Api, serve
from tests.report.reconstructed import trial

CHROMIUM = shutil.which("chromium")
FOUND = [
    trial("honest", "none", "outside", "aware", 0),
    trial("vicious", "none", "outside", "unaware", 0),
    trial("vicious", "none", "inside", "unaware", 0),
    trial("vicious", "argmax", "inside", "unaware", 1),
    trial("vicious", "argmax", "outside", "aware", 1),
    trial("vicious", "argmax", "outside", "averaging", 1),
]
"""The strongest are the first, the third and the fifth."""
STRONGEST = [FOUND[place] for place in (0, 2, 4)]


@pytest.fixture(scope="module")
def held(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[Api, str]]:
    """A controller, and a run of it in which trials were done whose view is there."""
    chosen = settings()
    with serve(chosen) as url, httpx.Client(base_url=url, timeout=90) as client:
        api = Api(client)
        run = api.start()
        asyncio.run(put(chosen.database_url, run, FOUND))
        yield api, run
        api.cancel(run)


async def put(url: str, run: str, trials: list[TrialResult]) -> None:
    database = Database(url)
    async with database.write() as session:
        await Trials(session).add(run, [(each.id, each.model_dump(mode="json")) for each in trials])
    await database.close()


def test_the_strongest_on_each_provider_and_defence_are_told(held: tuple[Api, str]) -> None:
    api, run = held
    found = api.get(f"/v1/runs/{run}/reconstructions")["reconstructions"]
    assert [(each["provider"], each["defence"], each["attack"], each["knowledge"]) for each in found] == [
        (each.provider, each.defence, each.attack, each.knowledge) for each in STRONGEST
    ]
    for each, told in zip(found, STRONGEST, strict=True):
        view = told.views["reconstructions"]
        assert each["original"] == view["original"]
        assert each["reconstructed"] == view["reconstructed"]
    assert found[1]["reached"] == "PSNR 19.70\N{NO-BREAK SPACE}dB"
    assert len({each["reconstructed"] for each in found}) == 3


def test_a_run_without_any_has_none(api: Api) -> None:
    run = api.start()
    assert api.get(f"/v1/runs/{run}/reconstructions") == {"reconstructions": []}


@pytest.mark.skipif(CHROMIUM is None, reason="needs the `chromium` command (apt-get install chromium)")
def test_the_page_shows_them_beside_the_inputs(held: tuple[Api, str]) -> None:
    api, run = held
    heard: list[str] = []
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        tab = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.goto(str(api.client.base_url))
        figures = tab.locator("section.run", has_text=run).locator("figure")
        expect(figures).to_have_count(len(STRONGEST), timeout=60_000)
        for place, told in enumerate(STRONGEST):
            view = told.views["reconstructions"]
            expect(figures.nth(place)).to_contain_text(f"{told.provider} · {told.defence}")
            pictures = figures.nth(place).locator("img")
            assert pictures.evaluate_all("all => all.map(each => each.getAttribute('src'))") == [
                f"data:image/png;base64,{view[strip]}" for strip in ("original", "reconstructed")
            ]
            decoded = "all => Promise.all(all.map(each => each.decode().then(() => each.naturalWidth)))"
            assert pictures.evaluate_all(decoded) == [160, 160]
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        browser.close()
    assert heard == []
