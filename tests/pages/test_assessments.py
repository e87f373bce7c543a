"""An audit of an endpoint in the browser: planned as the form is filled in, followed, listed and read."""

from __future__ import annotations

from html import unescape
from typing import Any

import httpx
import pytest
import yaml
from playwright.sync_api import Browser, expect

from tests.assessment.examples import leaks
from tests.controller.conftest import NOWHERE, OPERATOR
from tests.pages.conftest import opened
from tests.pages.furnished import Place
from tests.pages.logins import login, plain, token

TARGET: dict[str, Any] = {
    "name": "parities",
    "owner": "payments@example.com",
    "card": {"input": {"encoding": "picture", "shape": [16, 16, 1]}, "classes": ["even", "odd"]},
    "steps": [
        {
            "post": f"{NOWHERE}/parity",
            "json": {"rows": "${samples}"},
            "read": {"each": "$.predictions[*]", "values": "$.p"},
        }
    ],
    "limits": {"price": "0.02 EUR"},
}
FORM = {
    **{"written": yaml.safe_dump(TARGET), "data": "digits", "hidden": ["slant"], "budget": "400"},
    **{"little": "0.05", "bound": "0.1", "found_members": "0.05"},
}


def send(client: httpx.Client, path: str = "", **changes: object) -> httpx.Response:
    return client.post(f"/audits/endpoint{path}", data={"csrf": token(client), **FORM, **changes})


def test_the_plan_follows_the_form_and_the_audit_its_run(browser: Browser, place: Place) -> None:
    with opened(browser, f"{place.url}/audits/endpoint", operator=True) as tab:
        planned = tab.locator("#planned")
        tab.get_by_label("Records of").select_option("synthtable")
        expect(tab.get_by_label("slant")).to_have_count(0)
        tab.get_by_label("Records of").select_option("digits")
        expect(planned).to_contain_text("there is no target yet")
        file = {"name": "t.yaml", "mimeType": "text/yaml", "buffer": yaml.safe_dump(TARGET).encode()}
        tab.get_by_label("Or its file").set_input_files(file)  # type: ignore[arg-type]
        expect(planned).to_contain_text("nothing is hidden")
        tab.get_by_label("slant").check()
        tab.get_by_label("Samples, at most").fill("400")
        tab.get_by_label("Samples, at most").blur()
        expect(planned).to_contain_text("asked: 400 samples, of which users ask 240, 8.00 EUR")
        expect(planned.get_by_role("row", name="attribute-inference")).to_contain_text("yes")
        expect(planned.get_by_role("row", name="extraction")).to_contain_text("it copies the model")
        tab.get_by_role("button", name="Start the audit").click()
        tab.wait_for_url("**/audits/endpoint/2*")
        expect(tab.get_by_role("heading", name="The fleet attacks the model")).to_be_visible()
        expect(tab.get_by_role("main")).to_contain_text("0 of 400 samples are answered")
        run = str(tab.get_by_role("link", name="Its run, live").get_attribute("href")).rpartition("/")[2]
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        httpx.delete(f"{place.url}/v1/runs/{run}", headers=headers).raise_for_status()
        expect(tab.locator("#audit .chip")).to_have_text("failed", timeout=60_000)
        expect(tab.get_by_role("main")).to_contain_text("no attack came to an end")


def test_the_form_does_without_scripts_and_takes_a_registered_target(place: Place) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    httpx.put(
        f"{place.proxy}/admin/routes/parities", headers=headers, json={"target": TARGET, "probe": False}
    ).raise_for_status()
    with login(place.url) as client:
        page = send(client).text
        assert "asked: 400 samples" in page
        assert '<input type="checkbox" id="hidden-' in page
        assert 'value="slant" checked' in page
        assert "asked: 400 samples" in send(client, written="", known="parities").text
        # A data set that was chosen before had another attribute.
        assert "asked: 400 samples" in send(client, hidden=["slant", "income"]).text
        begun = send(client, "/start")
        assert begun.status_code == 303
        audit = plain(begun.headers["location"]).rpartition("/")[2]
        view = httpx.get(f"{place.url}/v1/assessments/{audit}").json()
        assert (view["target"], view["data"], view["plan"]["samples"]) == ("parities", "digits", 400)
        httpx.delete(f"{place.url}/v1/runs/{view['run']}", headers=headers).raise_for_status()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"written": "name: [", "known": ""}, "the target is no YAML"),
        ({"written": "", "known": "no-such"}, "there is no target yet"),
        ({"data": "no-such"}, "there is no data set"),
        ({"budget": "many"}, "budget: Input should be a valid integer"),
        ({"bound": "2"}, "bound: Input should be less than 1"),
        ({"hidden": []}, "nothing is hidden"),
        ({"members": "slant"}, "does not say who was trained on"),
    ],
)
def test_a_mistake_starts_nothing_and_keeps_what_was_written(
    place: Place, changes: dict[str, object], reason: str
) -> None:
    with login(place.url) as client:
        answer = send(client, "/start", **changes)
    assert answer.status_code == 422
    page = unescape(answer.text)
    assert reason in page
    assert str(changes.get("written", "payments@example.com")) in page


def test_a_file_that_is_no_target_is_refused(place: Place) -> None:
    with login(place.url) as client:
        form = {"csrf": token(client), **FORM, "written": ""}
        for content, status, reason in (
            (b"\xff\xfe\x00", 422, "the target is no YAML"),
            (b"- 1", 422, "a target is a mapping"),
            (b"a" * 2**20, 413, "a request body may have"),
        ):
            answer = client.post("/audits/endpoint/start", data=form, files={"file": ("t.yaml", content)})
            assert answer.status_code == status
            assert reason in unescape(answer.text)


def test_only_an_operator_with_a_form_of_ours_starts_an_audit(place: Place) -> None:
    with httpx.Client(base_url=place.url) as client:
        assert client.post("/audits/endpoint/start", data=FORM).status_code == 401
        assert "Operators audit endpoints here" in client.get("/audits/endpoint").text
    with login(place.url) as client:
        assert client.post("/audits/endpoint/start", data=FORM).status_code == 403


def test_the_document_is_a_page_with_its_files_and_a_line_of_the_list(place: Place) -> None:
    page = httpx.get(f"{place.url}/audits/endpoint/{place.leaky}")
    assert page.status_code == 200
    for text in (leaks().headline, leaks().recommendation, "Annex: threats", "Price list"):
        assert text in page.text
    for form in ("html", "json", "sarif", "junit", "cyclonedx", "csv"):
        link = f"/v1/assessments/{place.leaky}?format={form}"
        assert f'href="{link}"' in page.text
        assert httpx.get(place.url + link).status_code == 200
    assert httpx.get(f"{place.url}/audits/endpoint/{place.passed}").status_code == 404

    def listed(query: str) -> list[str]:
        text = httpx.get(f"{place.url}/audits?{query}").text
        order = sorted((text.find(f">{name}</a>"), name) for name in ("risk", "good-model", "bad-model"))
        return [name for at, name in order if at >= 0]

    assert listed("kind=endpoint&name=risk") == ["risk"]
    assert listed("conclusion=leaks") == ["risk"]
    assert listed("conclusion=suspicious") == ["good-model"]
    assert listed("name=MODEL&order=name") == ["bad-model", "good-model"]
    assert listed("order=worst")[0] == "risk"
    assert "AUC 0.840 on smoker, by attribute-inference" in httpx.get(f"{place.url}/audits").text
    for refused in ("kind=other", "name=%00", "conclusion=%00"):
        assert httpx.get(f"{place.url}/audits?{refused}").status_code == 422
    assert httpx.get(f"{place.url}/v1/assessments?target=%00").status_code == 422
