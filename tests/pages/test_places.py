"""Models, keys and audits in the browser: with a real proxy, and what its ledger says."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Browser, expect

from leakrange.metrics.numbers import duration
from leakrange.services.controller.settings import ControllerSettings
from leakrange.wire.names import PublicNames
from tests.controller.conftest import NOWHERE, OPERATOR, serve
from tests.pages.conftest import opened
from tests.pages.furnished import RECIPE, VERDICT, Place
from tests.pages.logins import login, token


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (800, "light"), (320, "dark")])
def test_every_page_fits_and_loads_nothing_from_elsewhere(
    browser: Browser, place: Place, width: int, scheme: str
) -> None:
    audits = ["/audits", f"/audits/{place.passed}", "/audits/endpoint", f"/audits/endpoint/{place.leaky}"]
    for path in ("/models", f"/models/{RECIPE.digest()}", "/keys", *audits):
        with opened(browser, place.url + path, width=width, scheme=scheme, operator=True) as tab:
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
            assert tab.get_by_role("heading", level=1).count() == 1


def test_a_key_is_made_shown_once_changed_and_revoked(browser: Browser, place: Place) -> None:
    admin = {"Authorization": f"Bearer {OPERATOR}"}
    policy = {"chain": [{"round": {"decimals": 1}}]}
    httpx.put(f"{place.proxy}/admin/policies/careful", headers=admin, json=policy).raise_for_status()
    with opened(browser, f"{place.url}/keys", operator=True) as tab:
        tab.get_by_label("Whom it is for").fill("an examiner")
        tab.get_by_label("Budget, samples").fill("1,500")
        tab.get_by_label("Policy").select_option("careful")
        tab.get_by_label("Models").fill("digits-a, digits-b")
        tab.get_by_label("softmax").check()
        tab.get_by_role("button", name="Make the key").click()
        secret = tab.get_by_label("API key").input_value()
        [account] = [
            each
            for each in httpx.get(f"{place.proxy}/admin/keys", headers=admin).json()["keys"]
            if each["name"] == "an examiner"
        ]
        assert (account["budget"], account["policy"]) == (1500, "careful")
        assert account["models"] == ["digits-a", "digits-b"]
        assert account["endpoints"] == ["softmax"]
        own = {"Authorization": f"Bearer {secret}"}
        assert httpx.get(f"{place.proxy}/v1/models", headers=own).status_code == 200
        tab.get_by_role("link", name="an examiner").click()
        assert secret not in tab.content()
        tab.get_by_label("Whole budget").fill("700")
        tab.get_by_role("button", name="Change the budget").click()
        expect(tab.get_by_role("row", name="Budget, samples")).to_contain_text("700")
        tab.get_by_text("Revoke this key").click()
        tab.get_by_role("button", name="Revoke for good").click()
        expect(tab.get_by_text("revoked")).to_be_visible()
    assert httpx.get(f"{place.proxy}/v1/models", headers=own).status_code == 401


def test_a_spent_budget_shows_without_a_reload(browser: Browser, place: Place) -> None:
    admin = {"Authorization": f"Bearer {OPERATOR}"}
    body = {"name": "live", "id": "live", "budget": 10}
    with opened(browser, f"{place.url}/keys") as tab:
        expect(tab.get_by_role("button", name="Make the key")).to_have_count(0)  # a viewer's page
        httpx.post(f"{place.proxy}/admin/keys", headers=admin, json=body).raise_for_status()
        row = tab.get_by_role("row", name="live")
        expect(row).to_contain_text("0 of 10")
        httpx.patch(f"{place.proxy}/admin/keys/live", headers=admin, json={"budget": 20}).raise_for_status()
        expect(row).to_contain_text("0 of 20")


def test_keys_that_can_be_used_come_first_and_of_them_the_newest(place: Place) -> None:
    admin = {"Authorization": f"Bearer {OPERATOR}"}
    for name in ("older", "newer", "gone"):
        body = {"name": name, "id": name, "budget": 1}
        httpx.post(f"{place.proxy}/admin/keys", headers=admin, json=body).raise_for_status()
    httpx.patch(f"{place.proxy}/admin/keys/gone", headers=admin, json={"revoked": True}).raise_for_status()
    listed = re.findall(r'id="key-(\w+)"', httpx.get(f"{place.url}/keys/list").text)
    assert [name for name in listed if name in ("older", "newer", "gone")] == ["newer", "older", "gone"]


def test_keys_that_runs_made_are_shown_to_whoever_asks_for_them(browser: Browser, place: Place) -> None:
    admin = {"Authorization": f"Bearer {OPERATOR}"}
    run = place.runs[0]
    for id in (run, f"{run}.attacker.honest-s0.none.q0"):
        body = {"name": id, "id": id, "budget": 5}
        httpx.post(f"{place.proxy}/admin/keys", headers=admin, json=body).raise_for_status()
    httpx.post(f"{place.proxy}/admin/keys", headers=admin, json={"name": "a person", "budget": 5})
    with opened(browser, f"{place.url}/keys", operator=True) as tab:
        headings = tab.get_by_role("heading", level=2)
        expect(headings.first).to_have_text("A new key")  # the form stands first
        expect(tab.get_by_role("link", name="a person")).to_be_visible()
        expect(tab.locator("#keys")).not_to_contain_text("attacker.honest-s0")
        tab.get_by_role("link", name="Show the 2 keys that runs made").click()
        row = tab.get_by_role("row", name="attacker.honest-s0.none.q0")
        expect(row.get_by_role("link", name=run)).to_be_visible()
        httpx.patch(f"{place.proxy}/admin/keys/{run}", headers=admin, json={"budget": 6}).raise_for_status()
        expect(tab.get_by_role("row", name="the run itself")).to_contain_text("0 of 6")  # without a reload
        tab.get_by_role("link", name="Hide the keys of runs").click()
        expect(tab.locator("#keys")).not_to_contain_text("attacker.honest-s0")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("name", "", "name"), ("budget", "many", "a whole number"), ("models", "no/name", "models")],
)
def test_a_mistaken_key_is_not_made_and_what_was_typed_stays(
    place: Place, field: str, value: str, said: str
) -> None:
    with login(place.url) as client:
        form = {
            "csrf": token(client),
            "name": "typed-name",
            "budget": "17",
            "models": "typed-model",
            field: value,
        }
        answer = client.post("/keys", data=form)
        assert answer.status_code == 422
        assert said in answer.text.partition('role="alert"')[2].partition("</div>")[0] or said in answer.text
        for kept in {"name": "typed-name", "models": "typed-model"}.items():
            if kept[0] != field:
                assert f'value="{kept[1]}"' in answer.text


def test_a_model_says_its_recipe_and_how_its_training_went(place: Place) -> None:
    listed = httpx.get(f"{place.url}/models").text
    assert f"/models/{RECIPE.digest()}" in listed
    assert "honesty 0.912" in listed
    assert "nobody now" in listed
    page = httpx.get(f"{place.url}/models/{RECIPE.digest()}").text
    for said in (
        "parameters.beta.y",
        "0.7",
        "12,345",
        duration(61.0),
        "0.875",
        "curious/parameterized on digits",
    ):
        assert said in page, said
    assert httpx.get(f"{place.url}/models/{'0' * 64}").status_code == 404


def test_a_model_says_who_serves_it(place: Place) -> None:
    admin = {"Authorization": f"Bearer {OPERATOR}"}
    name = f"digits-parity-logits-{PublicNames(OPERATOR).of('model', RECIPE.digest())}"
    route = {"upstream": NOWHERE}
    httpx.put(f"{place.proxy}/admin/routes/{name}", headers=admin, json=route).raise_for_status()
    page = httpx.get(f"{place.url}/models").text
    assert re.search(rf"data-is=\"Served by\">curious<small>as <code[^>]*>{name}<", page)


def test_verdicts_and_failures_are_told_as_in_the_report(place: Place) -> None:
    page = httpx.get(f"{place.url}/audits/{place.passed}").text
    report = httpx.get(f"{place.url}/v1/audits/{place.passed}/report").text
    for text in (page, report):
        assert "This model is suspicious" in text
        for each in VERDICT.findings:
            assert each.meaning in text
    assert "no such file" in httpx.get(f"{place.url}/audits/{place.failed}").text
    assert httpx.get(f"{place.url}/v1/audits/{place.failed}/report").status_code == 409


def test_an_audit_is_started_from_the_page_and_its_end_appears(browser: Browser, place: Place) -> None:
    with opened(browser, f"{place.url}/audits", operator=True) as tab:
        tab.get_by_label("Model", exact=True).fill("no-such-model")
        tab.get_by_label("Labelled samples of").select_option("digits")
        tab.get_by_role("button", name="Start the audit").click()
        tab.wait_for_url("**/audits/*")
        expect(tab.get_by_role("heading", name="Audit of no-such-model")).to_be_visible()
        expect(tab.locator(".chip")).to_have_text("failed")
        expect(tab.get_by_role("main")).to_contain_text("no-such-model")


def test_a_mistaken_audit_is_not_started(place: Place) -> None:
    with login(place.url) as client:
        form = {"csrf": token(client), "model": "some-model", "data": "digits"}
        for wrong, said in {"url": "ftp://elsewhere", "labelled": "few", "sensitive": "age"}.items():
            answer = client.post("/audits", data=form | {wrong: said})
            assert answer.status_code == 422, wrong
            assert 'role="alert"' in answer.text
            assert 'value="some-model"' in answer.text


def test_a_proxy_that_is_away_is_told_at_once(settings: Callable[..., ControllerSettings]) -> None:
    with serve(settings(proxy_url=NOWHERE)) as url:
        answer = httpx.get(f"{url}/keys", headers={"Accept": "text/html"})
        assert answer.status_code == 503
        assert "the proxy" in answer.text
        models = httpx.get(f"{url}/models")
        assert models.status_code == 200
        assert "the proxy" in models.text
