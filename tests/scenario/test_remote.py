"""What a scenario plans for a model that somebody else serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from leakrange.data.importing import ColumnUse, import_set
from leakrange.scenario.forecast import outlook
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.data.tables import customers, write_rows

ENDPOINT: dict[str, Any] = {
    "name": "risk",
    "owner": "team@example.com",
    "card": {"input": {"encoding": "vector", "shape": [2]}, "classes": ["right", "left"]},
    "steps": [
        {
            "post": "http://127.0.0.1:9/score",
            "json": {"rows": "${samples}"},
            "read": {"each": "$[*]", "values": "$"},
        }
    ],
}


def text(endpoint: dict[str, Any] | None = None, **changes: Any) -> str:
    provider = {
        "behaviour": "remote",
        "target": "y",
        "sensitive": "s",
        "endpoint": ENDPOINT | (endpoint or {}),
    }
    scenario = {
        "name": "remote",
        "seeds": [0, 1],
        "data": {"name": "quadrants", "count": 1000, "auxiliary": 0.4},
        "providers": {"risk": provider},
        "clients": {"phones": {"kind": "edge", "count": 2, "samples": 64}},
        "defences": {"none": [], "gaussian": [{"gaussian-input": 2.0}]},
        "attacks": {"outside": {"kind": "attribute-inference", "knowledge": "aware"}},
        "budgets": [100],
    }
    return yaml.safe_dump(scenario | changes)


def planned(*given: Any, **changes: Any) -> Plan:
    return expand(parse(text(*given, **changes)))


def mistake(*given: Any, **changes: Any) -> str:
    with pytest.raises(InvalidScenario) as caught:
        parse(text(*given, **changes))
    return str(caught.value.mistakes[0]["message"])


def test_nothing_is_trained_and_each_answer_is_asked_once_for_all_seeds() -> None:
    plan = planned()
    assert plan.trained == []
    assert {model.id for model in plan.models} == {"risk-s0", "risk-s1"}
    assert len({model.artifact for model in plan.models}) == 1
    assert {model.release for model in plan.models} == {"softmax"}
    assert len(plan.trials) == 4


def test_values_come_in_the_order_of_the_data_and_in_its_type() -> None:
    [remote, _] = [model.remote for model in planned().models]
    assert remote is not None
    assert (remote.card.classes, remote.card.order) == (("left", "right"), ("right", "left"))
    assert remote.card.input.spec.dtype == "uint8"
    assert Plan.stored(planned().dumped()).models[0].remote == remote


def test_limits_and_owner_do_not_make_another_model() -> None:
    def artifact(**endpoint: Any) -> str:
        return planned(endpoint).models[0].artifact

    assert artifact() == artifact(owner="somebody@example.com", limits={"batch": 2})
    assert artifact() != artifact(headers={"X-Mode": "raw"})


def test_mistakes_name_what_does_not_fit() -> None:
    card = ENDPOINT["card"]
    assert "has the shape (3,), the data (2,)" in mistake(
        {"card": card | {"input": {"encoding": "vector", "shape": [3]}}}
    )
    assert "has the classes left, right, and the target's card has no, yes" in mistake(
        {"card": card | {"classes": ["no", "yes"]}}
    )
    assert "'read'" in mistake({"steps": [{"get": "http://127.0.0.1:9"}]})
    assert "devices can change samples alone" in mistake(
        clients={"phones": {"kind": "edge", "defence": [{"round": {"decimals": 1}}]}}
    )
    provider = {"behaviour": "remote", "target": "y", "release": "logits", "endpoint": ENDPOINT}
    assert "the card of its endpoint releases softmax" in mistake(providers={"risk": provider})
    assert "endpoint" in mistake(providers={"risk": {"behaviour": "remote", "target": "y"}})


def test_membership_wants_to_know_on_whom_the_model_was_trained() -> None:
    loss = {"loss": {"kind": "loss-threshold"}}
    data = {"name": "quadrants", "count": 1000, "subset": {"pool": 300}}
    asked = {"data": data, "attacks": loss, "budgets": [300]}
    assert "whoever serves 'risk' trained it: 'members' names" in mistake(**asked)
    data["subset"] = {"pool": 300, "members": "s"}
    assert "'s' has the classes below, above, and not no and yes" in mistake(**asked)


def test_a_forecast_warns_of_labels_alone() -> None:
    card = ENDPOINT["card"] | {"answers": "labels"}
    [told] = outlook(parse(text({"card": card}))).warnings
    assert told.startswith("“risk” answers with labels alone")
    assert outlook(parse(text())).warnings == []


FACES: dict[str, Any] = {
    "name": "synthpeople",
    "size": 32,
    "count": 4096,
    "auxiliary": 0,
    "crowd": {"people": 20, "images": 6, "public": 20, "students": 2, "enrolled": 2, "held": 1},
}
COMPARES = {
    "card": {
        "input": {"encoding": "picture", "shape": [32, 32, 3]},
        "release": "score",
        "service": "verification",
    }
}


def of_faces(endpoint: dict[str, Any], **provider: Any) -> dict[str, Any]:
    served = {"behaviour": "remote", "target": "identity", "endpoint": ENDPOINT | endpoint, **provider}
    attacks = {"classes": {"kind": "class-based", "known": 5, "pairs": 6}}
    return {"data": FACES, "providers": {"gate": served}, "attacks": attacks, "budgets": [240]}


def test_a_service_of_somebody_else_is_what_its_card_says() -> None:
    plan = planned(**of_faces(COMPARES))
    models = plan.models
    assert {(each.endpoint, each.release) for each in models} == {("verification", "score")}
    assert len({each.artifact for each in models}) == 1  # both seeds ask about the same people
    assert {each.recipe.data.seed for each in models} == {0}
    [vectors, _] = planned(
        **of_faces({"card": COMPARES["card"] | {"release": "features", "service": "features", "features": 9}})
    ).models
    assert (vectors.endpoint, vectors.release) == ("features", "features")


def test_a_service_that_the_card_does_not_know_is_told() -> None:
    other = of_faces(COMPARES, service="features")
    assert "the card of its endpoint says that it is a verification service" in mistake(**other)
    nobody = {name: value for name, value in FACES.items() if name != "crowd"}
    assert "no 'crowd'" in mistake(**of_faces(COMPARES) | {"data": nobody})
    lacking = of_faces({"card": COMPARES["card"] | {"service": None}})
    assert "write 'service: verification'" in mistake(**lacking)


def test_a_column_that_no_sample_holds_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    import_set(
        write_rows(tmp_path / "customers.csv", customers(400)), "mine", ColumnUse("exited", ("gender",))
    )

    def asking(*columns: str) -> dict[str, Any]:
        taken = {"encoding": "table", "columns": list(columns)}
        endpoint = ENDPOINT | {"card": {"input": taken, "classes": ["0", "1"]}}
        provider = {
            "behaviour": "remote",
            "target": "exited",
            "sensitive": "gender",
            "endpoint": endpoint,
        }
        return {"data": {"name": "mine", "auxiliary": 0.4}, "providers": {"risk": provider}, "budgets": [40]}

    clients = {"phones": {"kind": "edge", "count": 2, "samples": 40}}
    [model, _] = planned(**asking("country", "age"), clients=clients).models
    assert model.remote is not None
    assert model.remote.card.input.sent == ("country", "age")
    assert len(model.remote.card.input.columns or ()) == 7
    message = mistake(**asking("age", "gender"), clients=clients)
    assert "the columns gender, which samples of the data lack" in message
    assert "country=France" in message
