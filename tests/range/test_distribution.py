"""Runs that ask what share of a training set had an attribute: of a model of the range, and of somebody
else's."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.linear_model import LogisticRegression

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from tests.range.conftest import Controller, scenario, value
from tests.serving import serving

HIGH, ASKED, MODELS = 0.8, 150, 2
DATA = {"name": "synthtable", "count": 2400, "auxiliary": 0.5}


class Rows(BaseModel):
    rows: list[dict[str, float]]


def composed(share: float) -> dict[str, Any]:
    """Of who passes an examination: that is what models are asked for, so it shows in all their answers."""
    composition = {"attribute": "passes", "having": "yes", "samples": 200, "share": share}
    return {**DATA, "composition": composition}


def of_share(name: str, provider: dict[str, Any], attacks: dict[str, Any]) -> str:
    models = {"shares": [0.2, HIGH], "stand_ins": MODELS, "knowledge": ["unaware"]}
    return scenario(
        name,
        data=composed(HIGH),
        net={"name": "mlp", "width": 0.2},
        schedule={"epochs": 6, "batch": 40, "lr": 0.005, "select": "last"},
        providers={"asked": {"target": "passes", **provider}},
        clients={"phones": {"kind": "edge", "count": 2, "samples": 100}},
        defences={"none": [], "label-only": ["argmax"]},
        attacks={attack: {**models, **parameters} for attack, parameters in attacks.items()},
        budgets=[ASKED],
    )


def test_the_share_of_a_models_training_samples_is_told(controller: Controller) -> None:
    shadows = {"shadows": MODELS}
    run = controller.run(
        of_share(
            "composition",
            {"behaviour": "honest", "release": "softmax"},
            {
                "loss": {"kind": "loss-test"},
                "kl": {"kind": "kl-test", **shadows},
                "classifier": {"kind": "share-classifier", **shadows},
            },
        )
    )
    assert run.view["state"] == "done", run.view["error"]
    assert run.view["jobs"]["train"]["total"] == 1 + 2 * MODELS + 2 * MODELS
    for name, trial in run.trials.items():
        assert value(trial, "auc") > 0.9, name
        assert (trial["spent"], trial["victims"]) == (ASKED, 1 + 2 * MODELS)
    told = run.trials[f"asked-s0.none.classifier.unaware.b{ASKED}"]
    assert value(told, "served_right") == 1.0
    assert abs(value(told, "served_share") - HIGH) < 0.2
    assert value(told, "leaked_records") > 0.5
    assert "80 %" in controller.ask("GET", f"/v1/runs/{run.id}/report").text


def test_the_share_of_a_model_that_is_not_ours_is_told_without_its_training_samples(
    controller: Controller,
) -> None:
    """Its owner says the share, for the judgement. The attacker trains on records of its own alone."""
    data = load(DataSpec.model_validate(composed(HIGH)))
    trained = data.where("train")
    model = LogisticRegression(max_iter=500).fit(data.values[trained], data.labels["passes"][trained])
    columns = list(data.spec.columns)
    app = FastAPI()

    @app.post("/passes")
    async def passes(asked: Rows) -> dict[str, Any]:
        rows = np.array([[row[name] for name in columns] for row in asked.rows])
        return {"predictions": [{"p": each} for each in model.predict_proba(rows)[:, 1].tolist()]}

    with serving(app) as url:
        endpoint = {
            "name": "passes",
            "owner": "school@example.com",
            "card": {"input": {"encoding": "table", "columns": columns}, "classes": ["no", "yes"]},
            "steps": [
                {
                    "post": f"{url}/passes",
                    "json": {"rows": "${rows}"},
                    "read": {"each": "$.predictions[*]", "values": "$.p", "of": "yes"},
                }
            ],
        }
        run = controller.run(
            of_share(
                "their-composition",
                {"behaviour": "remote", "endpoint": endpoint},
                {"kl": {"kind": "kl-test", "shadows": MODELS}},
            )
        )
    assert run.view["state"] == "done", run.view["error"]
    assert run.view["jobs"]["train"]["total"] == 2 * MODELS + 2 * MODELS
    for trial in run.trials.values():
        assert value(trial, "served_right") == 1.0
        assert value(trial, "auc") > 0.9
