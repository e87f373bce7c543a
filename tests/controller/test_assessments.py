"""Audits of endpoints over HTTP: planned without asking anybody, judged after the run, and gone on with."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from leakrange.assessment.document import Assessment, AssessmentPlan
from leakrange.assessment.plan import planned
from leakrange.services.controller.settings import ControllerSettings
from tests.assessment.asked import area, payers, question, results, trial
from tests.controller.conftest import OPERATOR, Api, problem, serve, using
from tests.controller.test_audits import post as audit_a_model
from tests.controller.test_views import put

ASKED = question(budget=400).model_dump(mode="json")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The data set ``payers``."""
    folder = tmp_path_factory.mktemp("payers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        payers(folder)
        yield


@pytest.fixture(scope="module")
def place(data: None, settings: Callable[..., ControllerSettings]) -> ControllerSettings:
    return settings()


@pytest.fixture(scope="module")
def api(place: ControllerSettings) -> Iterator[Api]:
    with serve(place) as url, using(url) as made:
        yield made


def post(api: Api, path: str = "", asked: Any = ASKED, key: str | None = OPERATOR) -> httpx.Response:
    return api.ask("POST", f"/v1/assessments{path}", json=asked, key=key)


def ended(api: Api, url: str) -> dict[str, Any]:
    while (view := api.get(url))["state"] == "running":
        time.sleep(0.02)
    found: dict[str, Any] = view
    return found


@pytest.mark.parametrize("path", ["", "/plan"])
def test_only_an_operator_asks_and_a_wrong_question_is_refused(api: Api, path: str) -> None:
    problem(post(api, path, key=None), 401, "unauthenticated")
    problem(post(api, path, key="another-key-of-somebody-else"), 403, "forbidden")
    for changes, reason in (
        ({"data": "payerz"}, "there is no data set 'payerz'"),
        ({"hidden": ["shoe"]}, "has no attribute 'shoe'; it has"),
        ({"hidden": [], "members": None}, "nothing is hidden"),
        ({"members": "gender"}, "does not say who was trained on"),
        ({"budget": 3}, "budget"),
        ({"target": ASKED["target"] | {"steps": []}}, "steps"),
    ):
        assert reason in str(problem(post(api, path, ASKED | changes), 422, "invalid-input")), reason
    assert api.get("/v1/assessments") == {"assessments": [], "next": None}


def test_the_plan_is_that_of_the_command_and_asks_nothing(api: Api) -> None:
    answer = post(api, "/plan")
    assert answer.status_code == 200, answer.text
    assert answer.json() == planned(question(budget=400)).model_dump(mode="json")
    assert api.get("/v1/runs")["runs"] == []


def test_answers_that_are_there_are_judged_and_the_document_has_every_form(
    api: Api, place: ControllerSettings
) -> None:
    plan = AssessmentPlan.model_validate(post(api, "/plan").json())
    leak = trial(auc=area(0.81, 100, 100), blind_auc=0.5, beyond_blind=area(0.81, 100, 100), records=200.0)
    run = put(place, results(plan, leak))
    begun = post(api).json()
    assert (begun["run"], begun["run_was"]) == (run, "done")
    view = ended(api, begun["url"])
    assert view["problem"] is None, view["problem"]
    document = Assessment.model_validate(view["document"])
    assert (document.conclusion, document.run, document.subject.records) == ("leaks", run, 600)
    assert document.headline.startswith("“late” gives away who was in the training set")
    assert post(api).json()["id"] == begun["id"]

    def file(form: str) -> str:
        answer = api.ask("GET", f"{begun['url']}?format={form}")
        assert answer.status_code == 200, answer.text
        return answer.text

    assert Assessment.model_validate_json(file("json")) == document
    assert document.headline in file("html")
    assert '"level": "error"' in file("sarif")
    assert ElementTree.fromstring(file("junit")).find("testsuite").get("failures") == "1"  # type: ignore[union-attr]
    assert '"specVersion": "1.7"' in file("cyclonedx")
    [first, _] = csv.DictReader(io.StringIO(file("csv")))
    assert (first["target"], first["conclusion"]) == ("late", "leaks")
    [entry] = api.get("/v1/assessments?conclusion=leaks&target=LAT")["assessments"]
    assert entry["brief"]["worst"] == "AUC 0.810 on membership, by quantile"
    assert entry["brief"]["lead"] == pytest.approx(0.31)
    assert api.get("/v1/assessments?conclusion=passes")["assessments"] == []
    assert api.get("/v1/audits")["audits"] == []
    problem(api.ask("GET", f"/v1/audits/{begun['id']}"), 404, "not-found")
    problem(api.ask("GET", "/v1/assessments/none"), 404, "not-found")
    of_a_model = audit_a_model(api, {"model": "m", "plan": {"data": {"name": "digits"}}}).json()["id"]
    problem(api.ask("GET", f"/v1/assessments/{of_a_model}"), 404, "not-found")


def test_an_audit_outlives_its_controller_and_says_why_it_came_to_nothing(
    data: None, settings: Callable[..., ControllerSettings]
) -> None:
    own = settings()
    with serve(own) as url, httpx.Client(base_url=url, timeout=60) as client:
        begun = post(Api(client)).json()
        assert begun["run_was"] == "new"
        problem(Api(client).ask("GET", f"{begun['url']}?format=html"), 409, "conflict")
    with serve(own) as url, httpx.Client(base_url=url, timeout=60) as client:
        api = Api(client)
        again = post(api).json()
        assert (again["run_was"], again["id"], again["run"]) == ("begun", begun["id"], begun["run"])
        api.cancel(begun["run"])
        view = ended(api, begun["url"])
        assert (view["state"], view["document"]) == ("failed", None)
        assert "was cancelled, and no attack came to an end" in view["problem"]["detail"]
        anew = post(api).json()
        assert anew["run_was"] == "new"
        assert anew["id"] != begun["id"]
        api.cancel(anew["run"])
