"""The page of ready scenarios, and the form that writes one."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from leakrange.scenario.answers import ScenarioAnswers, scenario_text
from leakrange.scenario.shipped import shipped
from tests.controller.conftest import Api
from tests.pages.conftest import opened
from tests.pages.logins import login, token


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without files of data sets, which may download nothing."""
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def started(api: Api) -> set[str]:
    return {run["name"] for run in api.get("/v1/runs?limit=200")["runs"]}


def test_scenarios_stand_under_what_they_need(browser: Browser, site: str, no_data: None) -> None:
    with opened(browser, f"{site}/scenarios") as tab:
        expect(tab.locator("#ready:not([hx-get])")).to_be_visible()  # what each takes has come
        groups = tab.locator(".group").all_inner_texts()
        assert [group.split("\n")[0].rstrip(" 0123456789") for group in groups] == [
            "No files needed",
            "Data that is missing",
        ]
        demo = tab.get_by_role("listitem").filter(has=tab.get_by_role("link", name="demo", exact=True))
        expect(demo).to_contain_text("18 models to train, time not known yet; 212 trials")
        expect(demo).to_contain_text("VICIOUS")
        faces = tab.get_by_role("listitem").filter(has=tab.get_by_role("link", name="hbc-utkface"))
        expect(faces).to_contain_text("utkface is not here. There is no utkface/utkface.npz")
        expect(faces.locator("code")).to_have_text("leakrange data list")


def test_a_scenario_without_its_data_is_refused_and_one_with_it_starts(api: Api, no_data: None) -> None:
    with login(str(api.client.base_url)) as client:
        page = client.get("/scenarios").text
        assert 'aria-label="Start demo"' in page
        assert 'aria-label="Start hbc-utkface"' not in page
        form = {"csrf": token(client)}
        refused = client.post("/scenarios/start/hbc-utkface", data=form)
        assert refused.status_code == 422
        assert "utkface/utkface.npz" in refused.text
        assert "leakrange data list" in refused.text
        text = shipped()["hbc-utkface"].text
        assert client.post("/scenarios/start", data=form | {"text": text}).status_code == 422
        assert client.post("/scenarios/start/no-such", data=form).status_code == 404
        assert "hbc-utkface" not in started(api)
        begun = client.post("/scenarios/start/vicious", data=form)
        assert begun.status_code == 303
    assert "vicious" in started(api)
    assert httpx.post(f"{api.client.base_url}/scenarios/start/vicious").status_code == 401


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_the_form_writes_what_is_chosen(browser: Browser, site: str, width: int, scheme: str) -> None:
    with opened(browser, f"{site}/scenarios", width=width, scheme=scheme) as tab:
        tab.get_by_role("link", name="Answer a few questions").click()
        tab.get_by_label("Which data?").select_option("synthtable")
        target = tab.get_by_label("What is the provider asked for?")
        expect(target).to_have_value("passes")  # the attributes are those of the data
        tab.get_by_label("What would people rather hide?").select_option("home")
        tab.get_by_label("honest", exact=False).first.check()
        tab.get_by_label("argmax").check()
        tab.get_by_label("Repeats").fill("2")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.get_by_role("button", name="Show the scenario").click()
        expect(tab.get_by_role("heading", name="No mistakes")).to_be_visible()
        answers = ScenarioAnswers(
            data="synthtable", target="passes", hidden="home", defences=("argmax",), seeds=(0, 1)
        )
        assert tab.get_by_label("Scenario", exact=True).input_value() == scenario_text(answers)


def test_what_does_not_fit_together_is_said_and_nothing_begins(api: Api) -> None:
    chosen = {"data": "digits", "target": "parity", "hidden": "digit", "behaviour": "curious/regularized"}
    with login(str(api.client.base_url)) as client:
        for path in ("/scenarios/form", "/scenarios/form/start"):
            answer = client.post(path, data=chosen | {"csrf": token(client), "name": "kept"})
            assert answer.status_code == 422
            assert "takes as sensitive a binary attribute" in answer.text
            assert 'value="kept"' in answer.text
        assert "kept" not in started(api)
        good = chosen | {"hidden": "slant", "csrf": token(client), "name": "from-the-form"}
        assert client.post("/scenarios/form/start", data=good).status_code == 303
    assert "from-the-form" in started(api)
    assert httpx.post(f"{api.client.base_url}/scenarios/form/start", data=chosen).status_code == 401


def test_the_form_works_without_a_script(site: str) -> None:
    page = httpx.get(f"{site}/scenarios/form", params={"data": "synthtable"}).text
    assert '<option value="passes" selected' in page
    assert '<option value="group" selected' in page
    assert "Show its attributes" in page
    assert httpx.get(f"{site}/scenarios/form", params={"repeats": 0}).status_code == 422
    assert httpx.get(f"{site}/scenarios/form", params={"data": "<b>"}).status_code == 200
