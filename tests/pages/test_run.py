"""The page of a run in a real browser: while it goes on, at its end, and for those who come late."""

from __future__ import annotations

import html
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from playwright.sync_api import Browser, Page, expect

from leakrange.services.controller.live.view import view
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import Api, serve, using
from tests.controller.recorded import Recorded, recorded_run
from tests.controller.test_views import put
from tests.pages.conftest import opened
from tests.pages.test_accessibility import findings
from tests.report.build import run, trials, unmeasured


@pytest.fixture(scope="module")
def told(settings: Callable[..., ControllerSettings]) -> ControllerSettings:
    made = settings()
    with serve(made):  # which migrates the database
        return made


@pytest.fixture(scope="module")
def recorded(told: ControllerSettings) -> Recorded:
    return recorded_run(told)


@pytest.fixture(scope="module")
def url(recorded: Recorded, told: ControllerSettings) -> Iterator[str]:
    """The page of the recorded run, at a controller that was started after its end."""
    with serve(told) as site:
        yield f"{site}/runs/{recorded.id}"


def texts(tab: Page) -> dict[str, str]:
    """All values on the page, by their places."""
    found: dict[str, str] = tab.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-text]')]"
        ".map(it => [it.dataset.text, it.textContent]))"
    )
    return found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (320, "light")])
def test_the_end_of_a_run_stays_at_its_address(
    browser: Browser, url: str, recorded: Recorded, width: int, scheme: str
) -> None:
    end = view(recorded.end, 0.0)
    with opened(browser, url, width=width, scheme=scheme) as tab:
        assert texts(tab).items() <= end.text.items()
        cells = tab.locator(".grid [data-cell]")
        assert cells.evaluate_all("all => all.map(it => it.dataset.state)") == ["done"] * len(
            recorded.results
        )
        expect(tab.get_by_role("heading", name="What was found")).to_be_visible()
        expect(tab.locator("#found .answer p").first).to_contain_text("providers")
        assert tab.locator("svg.wide").is_visible() == (width > 760)
        assert tab.locator("svg.narrow").is_visible() == (width <= 760)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert findings(tab) == []
        tab.get_by_text("The flows as a table").click()
        users = tab.get_by_role("row", name="users’ devices")
        expect(users).to_contain_text(f"{recorded.end.flows['users'].samples:,}")
        loaded = tab.evaluate("performance.getEntriesByType('resource').map(it => it.name)")
        assert not [name for name in loaded if "/live" in name]  # nothing more will come


def test_a_trial_says_what_it_is_to_mouse_and_keyboard(browser: Browser, url: str) -> None:
    with opened(browser, url) as tab:
        said = tab.locator(".trials [role=status]")
        tab.locator("[data-cell='0']").hover()
        expect(said).to_contain_text("honest, no defence: outside (unaware)")
        grid = tab.get_by_role("group", name="Trials by provider")
        grid.focus()
        tab.keyboard.press("End")
        last = tab.locator("[data-cell]").last
        expect(last).to_have_class("pointed")
        expect(said).to_contain_text(str(last.get_attribute("data-title")))
        tab.keyboard.press("ArrowLeft")
        expect(last).not_to_have_class("pointed")


def heard(url: str, after: int, **headers: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The changes that a page with the events up to that number is told."""
    with httpx.stream("GET", f"{url}/live", params={"after": after}, headers=headers, timeout=30) as answer:
        kind = ""
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield kind, orjson.loads(value)


@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_who_was_cut_off_is_told_what_changed_meanwhile(url: str, recorded: Recorded, share: float) -> None:
    number = int(share * len(recorded.events))
    before, end = recorded.after(number), view(recorded.end, 0.0)
    had = view(before, before.last)
    for headers, after in (({}, number), ({"Last-Event-ID": str(number)}, 0)):
        (first, said), (second, _) = heard(url, after, **headers)
        assert (first, second) == ("change", "end")
        for kind in ("text", "state", "share", "title"):
            assert getattr(had, kind) | said.get(kind, {}) == getattr(end, kind), kind
        told_again = [place for place in said.get("state", {}) if place.startswith("cell.")]
        changed = [
            place for place, state in end.state.items() if place[:5] == "cell." and had.state[place] != state
        ]
        assert told_again == changed
        assert "The run is finished" in said["html"]["said"]


def test_it_follows_a_run_from_the_tour_to_its_end(
    browser: Browser, settings: Callable[..., ControllerSettings]
) -> None:
    with (
        serve(settings()) as site,  # an empty range: only that offers the tour
        httpx.Client(base_url=site, timeout=90) as client,
        opened(browser, f"{site}/", operator=True) as tab,
    ):
        api = Api(client)
        tab.get_by_role("button", name="Start the two-minute demo").click()
        expect(tab.get_by_role("heading", level=1)).to_have_text("demo")
        expect(tab.locator("[data-chip]")).to_have_text("running")
        expect(tab.locator("[data-step=parties]")).to_contain_text("1 is vicious")
        expect(tab.locator("[data-step=users]")).to_have_count(0)
        expect(tab.locator(".grid [data-cell]").first).to_have_attribute("data-state", "queued")
        expect(tab.locator(".overall")).to_contain_text("0 of 212 trials")
        picture = tab.locator("svg.wide").bounding_box()
        assert picture is not None
        assert picture["y"] + picture["height"] <= 800
        expect(tab.locator("svg.wide .provider .plays").nth(1)).to_have_text("curious: hides “slant”")
        run = tab.url.rpartition("/")[2]
        assert api.get(f"/v1/runs/{run}")["name"] == "demo"
        expect(tab.get_by_role("main").get_by_text("Cancel", exact=True)).to_be_visible()
        api.cancel(run)
        expect(tab.locator("[data-chip]")).to_have_text("cancelled")  # without a reload
        expect(tab.locator(".grid [data-cell]").first).to_have_attribute("data-state", "cancelled")
        expect(tab.get_by_role("status").first).to_have_text("The run is cancelled.")
        expect(tab.get_by_role("heading", name="The run was cancelled.")).to_be_visible()
        expect(tab.locator(".overall")).to_have_count(0)
        expect(tab.get_by_text("See what leaked")).to_have_count(0)
        expect(tab.get_by_role("main").get_by_text("Cancel", exact=True)).to_have_count(0)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_what_is_found_so_far_is_what_the_report_says(
    url: str, told: ControllerSettings, share: float
) -> None:
    few = [trial for trial in trials() if trial.data == "digits"]
    ended = int(share * len(few))
    left = [unmeasured(trial, state="queued") for trial in few[ended:]]
    started = put(told, run(trials=few[:ended] + left, models=[], state="running"))
    site = url.partition("/runs/")[0]
    page = httpx.get(f"{site}/runs/{started}/found", timeout=60)
    written = html.unescape(page.text)
    views = httpx.get(f"{site}/v1/runs/{started}/views", timeout=60).json()
    assert page.status_code == 200
    assert (views["headline"] in written) == (ended > 0)
    assert views["recommendation"] in written
    assert ("What was found so far" in written) == (ended > 0)


@pytest.mark.parametrize("ended", [0, 3])
def test_a_run_that_failed_says_what_to_do_and_not_that_something_leaked(
    url: str, told: ControllerSettings, ended: int
) -> None:
    few = [trial for trial in trials() if trial.data == "digits"][:8]
    left = [unmeasured(trial, state="cancelled") for trial in few[ended:]]
    failed = put(told, run(trials=few[:ended] + left, models=[], state="failed"))
    site = url.partition("/runs/")[0]
    page = html.unescape(httpx.get(f"{site}/runs/{failed}", timeout=60).text)
    assert "The run failed." in page
    assert "press “Run again”" in page
    assert f"leakrange trace {failed}" in page
    assert "See what leaked" not in page
    assert ("See what was measured before" in page) == (ended > 0)


def test_only_an_operator_with_a_form_of_ours_starts_the_demo(
    site: str, settings: Callable[..., Any]
) -> None:
    with httpx.Client(base_url=site) as client:
        assert client.post("/tour").status_code == 401
    with serve(settings()) as empty:
        offered = httpx.get(empty).text
    assert "Log in to start the demo" in offered
    assert 'action="/tour"' not in offered


def test_a_run_of_another_version_says_why_it_has_no_picture(
    url: str, told: ControllerSettings, settings: Callable[..., ControllerSettings], tmp_path: Path
) -> None:
    shutil.copy(told.database_url.partition("///")[2], tmp_path / "older.db")
    with sqlite3.connect(tmp_path / "older.db") as older:
        older.execute("update plans set plan = '{}'")
    with serve(settings(database_url=f"sqlite+aiosqlite:///{tmp_path}/older.db")) as site:
        page = httpx.get(f"{site}{httpx.URL(url).path}").text
    assert "was planned by another version" in page
    assert "/board" in page


def test_there_is_no_page_of_a_run_that_is_not_there(site: str) -> None:
    for path in ("/runs/no-such-run", "/runs/no-such-run/live"):
        assert httpx.get(f"{site}{path}").status_code == 404


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_class_goes_through_a_run_by_keys_and_buttons(
    browser: Browser, url: str, recorded: Recorded, width: int, scheme: str
) -> None:
    with opened(browser, url, width=width, scheme=scheme) as tab:
        tab.get_by_role("link", name="Step by step").click()
        heading = tab.locator(".step:visible h2")
        expect(heading).to_have_text("1 of 7 Who uses it")
        tab.keyboard.press("ArrowLeft")
        expect(heading).to_have_text("1 of 7 Who uses it")
        tab.keyboard.press("ArrowRight")
        tab.get_by_role("button", name="Next").click()
        expect(heading).to_have_text("3 of 7 What the provider keeps")
        kept = sum(spent for name, spent in recorded.spent.items() if ".users.curious-" in name)
        expect(tab.locator(".step:visible .figure strong")).to_have_text(f"{kept:,}")
        expect(tab.locator(".step:visible .notes p").first).to_be_hidden()
        tab.keyboard.press("n")
        expect(tab.locator(".step:visible .notes p").first).to_be_visible()
        tab.keyboard.press("End")
        expect(heading).to_have_text("7 of 7 What that costs")
        expect(tab.locator(".step:visible .notes p").first).to_be_visible()  # they stay open
        expect(tab.get_by_role("button", name="Next")).to_be_disabled()
        tab.get_by_role("button", name="Back").click()
        tab.get_by_role("button", name="Notes").click()
        expect(tab.locator(".step:visible .bars li")).to_have_count(3)
        assert findings(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if width > 760:  # what a class sees on a small projector
            tab.set_viewport_size({"width": 1280, "height": 720})
            assert tab.evaluate("document.documentElement.scrollHeight") <= 720
        tab.reload()
        expect(heading).to_have_text("6 of 7 What a defence changes")
        tab.get_by_text("Provider: curious").click()
        tab.get_by_role("link", name="honest", exact=True).click()
        expect(tab.locator(".step:visible .sentence")).to_contain_text("“honest”")


def test_steps_that_wait_say_so_and_a_look_that_changes_nothing_costs_nothing(
    browser: Browser, settings: Callable[..., ControllerSettings]
) -> None:
    with serve(settings()) as site, using(site) as api:
        run = api.start()
        with opened(browser, f"{site}/runs/{run}/steps#step-5") as tab:
            step = tab.locator(".step:visible")
            expect(step).to_contain_text("The run has not come that far.")
            seen = str(tab.locator("#steps").get_attribute("hx-get")).partition("seen=")[2].partition("&")[0]
            again = httpx.get(f"{site}/runs/{run}/steps", params={"seen": seen})
            assert again.status_code == 204
            api.cancel(run)
            expect(step).to_contain_text("This run did not measure it.")  # without a reload, at its place
            expect(step.locator("h2")).to_contain_text("5 of 7")
            assert tab.locator("#steps").get_attribute("hx-get") is None


def test_a_provider_that_the_run_has_not_is_not_found(url: str) -> None:
    for provider in ("nobody", "<script>alert(1)</script>", "x" * 129):
        answer = httpx.get(f"{url}/steps", params={"provider": provider})
        assert answer.status_code in (404, 422)
        assert "<script>alert" not in answer.text
    assert httpx.get(f"{url}/steps").headers["content-security-policy"].startswith("default-src")
