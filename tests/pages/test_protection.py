"""The page of protected models in the browser: with a real proxy, before a provider and a target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from leakrange.services.controller.pages.protected import curl_for, holding, sample_of
from leakrange.targets.target import target_of
from leakrange.wire.administration import BindingBody
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.controller.conftest import NOWHERE, OPERATOR
from tests.pages.conftest import opened
from tests.pages.furnished import Place
from tests.pages.logins import login, token
from tests.pages.test_accessibility import COLOURS, findings
from tests.proxy.servers import PICTURE, ROW, SHAPE, StubProvider, clean, serve
from tests.proxy.test_targets import Foreign, target

ADMIN = {"Authorization": f"Bearer {OPERATOR}"}


def put(place: Place, path: str, body: Any, status: int = 200) -> Any:
    answer = httpx.put(f"{place.proxy}/admin{path}", headers=ADMIN, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture
def foreign(place: Place) -> Iterator[Foreign]:
    """A target "risk" and a provider's model "digits" behind the proxy, and one that is away."""
    server = Foreign()
    with serve(server) as url, serve(StubProvider()) as provider:
        limits = {"samples": 500, "batch": 8}
        put(
            place,
            "/routes/risk",
            {"target": target(url, limits=limits, owner="The risk team"), "probe": False},
        )
        put(place, "/routes/digits", {"upstream": provider})
        put(place, "/routes/gone", {"upstream": NOWHERE})
        put(place, "/policies/rounded", {"chain": [{"round": {"decimals": 1}}]})
        put(place, "/bindings", {"model": "risk", "policy": "rounded"})
        yield server
    for model in ("risk", "digits", "gone"):
        httpx.delete(f"{place.proxy}/admin/routes/{model}", headers=ADMIN)
    httpx.delete(f"{place.proxy}/admin/bindings", params={"model": "risk"}, headers=ADMIN)


def key(place: Place, name: str, **more: Any) -> str:
    body = {"name": name, "budget": 2, **more}
    made = httpx.post(f"{place.proxy}/admin/keys", headers=ADMIN, json=body)
    return str(made.raise_for_status().json()["key"])


def test_every_model_is_listed_with_who_answers_and_how_it_fares(
    browser: Browser, place: Place, foreign: Foreign
) -> None:
    with opened(browser, f"{place.url}/protection") as tab:
        risk = tab.get_by_role("row", name="risk")
        expect(risk).to_contain_text("target risk")
        expect(risk).to_contain_text("rounded")
        expect(risk.locator(".chip")).to_have_text("not asked yet")
        expect(tab.get_by_role("row", name="digits").locator(".chip")).to_have_text("answers")
        expect(tab.get_by_role("row", name="gone").locator(".chip")).to_have_text("away")
    assert foreign.bodies == []  # looking costs its owner nothing


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_a_sample_is_tried_with_a_key_that_pays(
    browser: Browser, place: Place, foreign: Foreign, width: int, scheme: str
) -> None:
    secret = key(place, f"tester {width}", models=["risk"])
    url = f"{place.url}/protection/risk"
    with opened(browser, url, width=width, scheme=scheme, operator=True) as tab:
        expect(tab.get_by_role("row", name="Owner")).to_contain_text("The risk team")
        expect(tab.get_by_label("The command")).to_contain_text("/v1/models/risk/softmax")
        tab.get_by_label("API key").fill(secret)
        tab.get_by_role("button", name="Ask").click()
        rows = tab.get_by_role("region", name="The answer to the sample").locator("tbody tr")
        expect(rows).to_have_count(5)
        expected = np.round(clean("softmax", np.zeros((1, *SHAPE), np.uint8))[0], 1)
        assert [float(text.split()[-1]) for text in rows.all_inner_texts()] == pytest.approx(expected)
        assert secret not in tab.locator("#tried").inner_html()
        tab.get_by_label("Sample", exact=True).fill("1, 2, 3")
        tab.get_by_role("button", name="Ask").click()
        expect(tab.locator("#tried").get_by_role("alert")).to_contain_text(
            "this sample has 3 numbers; the model takes 8 x 8 x 3"
        )
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert findings(tab) == []
        assert findings(tab, COLOURS) == []
        tab.reload()
        expect(tab.get_by_role("row", name=f"tester {width}")).to_contain_text("1 of 2")
        expect(tab.locator(".facts .chip")).to_have_text("answered just now")
        expect(tab.get_by_role("row", name="Samples sent")).to_contain_text("of at most 500")


def test_what_a_target_answered_last_is_shown_to_operators_alone(place: Place, foreign: Foreign) -> None:
    foreign.faults = iter([(400, {})])
    with login(place.url) as client:
        form = {"csrf": token(client), "key": key(place, "one"), "sample": ""}
        answer = client.post("/protection/risk/try", data=form)
        assert answer.status_code == 422
        assert "the API key" not in answer.text
        assert form["key"] not in answer.text
        seen_by_operator = client.get("/protection/risk").text
    seen_by_viewer = httpx.get(f"{place.url}/protection/risk").text
    for page in (seen_by_operator, seen_by_viewer):
        assert "failed just now" in page
    assert "answered 400: " in seen_by_operator
    assert "ThrottlingException" not in seen_by_viewer
    assert "The risk team" not in seen_by_viewer
    assert "API key</label>" not in seen_by_viewer


def test_a_page_names_texts_by_their_numbers_and_policies_of_keys_that_may_ask(place: Place) -> None:
    taken = {
        "encoding": "table",
        "columns": ["age", "land"],
        "categories": {"land": ["France", "Spain"]},
    }
    given = {"name": "rows", "owner": "team", "preset": "mlflow", "url": "http://127.0.0.1:9"}
    given |= {"card": {"input": taken, "classes": ["a", "b"]}}
    put(place, "/routes/rows", {"target": given, "probe": False})
    put(place, "/policies/rounded", {"chain": [{"round": {"decimals": 1}}]})
    for name, models in (("theirs", ["rows"]), ("another", ["others"])):
        key(place, name, id=name, models=models, policy="rounded")
    with login(place.url) as client:
        page = client.get("/protection/rows").text
    httpx.delete(f"{place.proxy}/admin/routes/rows", headers=ADMIN)
    assert "In land, 0 is France, 1 is Spain." in page
    assert "key theirs" in page
    assert "another" not in page


def test_only_operators_with_a_form_of_ours_try(place: Place, foreign: Foreign) -> None:
    secret = key(place, "two")
    assert httpx.post(f"{place.url}/protection/risk/try", data={"key": secret}).status_code == 401
    with login(place.url) as client:
        assert client.post("/protection/risk/try", data={"key": secret}).status_code == 403
        wrong = client.post("/protection/risk/try", data={"key": "wrong", "csrf": token(client)})
        assert wrong.status_code == 422
        assert "unknown API key" in wrong.text
    assert foreign.bodies == []
    assert httpx.get(f"{place.url}/protection/nothing").status_code == 404


def test_the_most_specific_policy_holds() -> None:
    bindings = [
        BindingBody(policy="all"),
        BindingBody(policy="model", model="m"),
        BindingBody(policy="endpoint", model="m", endpoint="softmax"),
        BindingBody(policy="key", key="k"),
        BindingBody(policy="both", key="k", model="m"),
    ]
    assert holding(bindings, "other") == "all"
    assert holding(bindings, "m") == "model"
    assert holding(bindings, "m", endpoint="softmax") == "endpoint"
    assert holding(bindings, "other", key="k", endpoint="softmax") == "key"
    assert holding(bindings, "m", key="k", endpoint="softmax") == "both"
    assert holding([], "m") is None


def test_a_command_asks_for_one_sample_of_the_model() -> None:
    card = {"input": {"encoding": "table", "columns": ["age", "hours"]}, "classes": ["a", "b"]}
    given = {"name": "m", "owner": "team", "preset": "mlflow", "url": "http://127.0.0.1:1", "card": card}
    of_table = curl_for(target_of(given).model_card("m"), "m", "http://proxy")
    assert """-d '{"inputs":[[0,0]]}'""" in of_table
    assert of_table.endswith("http://proxy/v1/models/m/softmax")
    given |= {"card": card | {"input": {"encoding": "vector", "shape": [400]}}}
    assert "--data-binary @samples.npy" in curl_for(target_of(given).model_card("m"), "m", "http://proxy")
    assert curl_for(None, "m", "http://proxy").endswith("http://proxy/v1/models/m")


@pytest.mark.parametrize("text", ["41, 8, 2.5", "[41, 8, 2.5]", "[[41, 8, 2.5]]"])
def test_a_typed_sample_is_read(text: str) -> None:
    assert sample_of(text, ROW, pair=False).tolist() == [[41, 8, 2.5]]


@pytest.mark.parametrize(
    "text", ["1, 2", "a, b, c", "[1, [2, 3]]", "1, 2, 1e300", "NaN, 1, 2", "[1, 2", "{}"]
)
def test_what_is_no_sample_is_told(text: str) -> None:
    with pytest.raises(InvalidInput):
        sample_of(text, ROW, pair=False)


def test_no_text_is_a_sample_of_zeros() -> None:
    assert sample_of(" ", PICTURE, pair=True).shape == (1, 2, *SHAPE)
    assert isinstance(PICTURE, SampleSpec)
