"""What scenarios can name, the schema for editors, and the API under whatever Schemathesis makes of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jsonschema
import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import tests.serializers  # noqa: F401  # by which Schemathesis sends arrays
from tests.controller.conftest import OPERATOR, SCENARIO, Api


@pytest.mark.parametrize(
    ("listing", "some"),
    [
        ("attacks", {"attribute-inference", "curious-decoder", "distillation"}),
        ("behaviours", {"honest", "curious/parameterized", "curious/regularized"}),
        ("defences", {"prune", "round", "argmax", "noise", "top-k", "temperature", "clip"}),
    ],
)
def test_what_is_registered_is_listed_with_its_parameters(api: Api, listing: str, some: set[str]) -> None:
    entries = {entry["name"]: entry for entry in api.get(f"/v1/{listing}")[listing]}
    assert some <= set(entries)
    for name in some:
        assert entries[name]["summary"]
        jsonschema.Draft202012Validator.check_schema(entries[name]["parameters"])


def test_data_sets_say_what_is_in_them_and_whether_they_are_here(api: Api) -> None:
    entries = {entry["name"]: entry for entry in api.get("/v1/data")["data"]}
    digits = entries["digits"]
    assert digits["unavailable"] is None
    assert {"digit", "parity", "large", "loop"} <= set(digits["attributes"])
    assert len(digits["attributes"]["digit"]) == 10
    assert {"synthfaces", "utkface"} <= set(entries)
    for entry in entries.values():
        assert entry["unavailable"] is None or entry["unavailable"]


def test_no_model_is_listed_before_one_is_trained(api: Api) -> None:
    assert api.get("/v1/models") == {"models": []}


def test_editors_get_a_schema_that_takes_good_scenarios_and_refuses_bad_ones(api: Api) -> None:
    validator = jsonschema.Draft202012Validator(api.get("/v1/scenario/schema"))
    validator.check_schema(validator.schema)
    good = yaml.safe_load(SCENARIO)
    validator.validate(good)
    for wrong in ({"seeds": "many"}, {"attacks": {"a": {}}}, {"budgets": [0]}, {"unknown": 1}):
        assert not validator.is_valid(good | wrong), wrong


def test_the_schema_holds_under_whatever_schemathesis_makes_of_it(api: Api) -> None:
    """No 5xx, as the operator and as anybody; every refusal is a problem detail."""
    run = api.start()
    schema = schemathesis.openapi.from_url(f"{api.client.base_url}/openapi.json")
    assert {"/v1/runs", "/v1/runs/{run}/events", "/v1/scenario/schema"} <= set(schema.raw_schema["paths"])
    seen = Counter[int]()
    for result in schema.get_all_operations():
        _try(result.ok(), run, seen)
    assert seen[200] > 20
    assert seen[202] >= 1
    assert seen[422] > 2


def _try(operation: Any, run: str, seen: Counter[int]) -> None:
    @hypothesis_settings(
        max_examples=6,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), known=st.booleans(), operator=st.booleans())
    def check(case: Any, known: bool, operator: bool) -> None:
        if known and "run" in (case.path_parameters or {}):
            if case.path.endswith(("/events", "/report")):
                return  # a stream that goes on until the run is over, and what takes seconds to draw
            case.path_parameters["run"] = run
        headers = {"Authorization": f"Bearer {OPERATOR}"} if operator else {}
        answer = case.call(headers=headers, timeout=60)
        seen[answer.status_code] += 1
        assert answer.status_code < 500, (case.method, case.path, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"][0] == "application/problem+json", answer.text

    check()
