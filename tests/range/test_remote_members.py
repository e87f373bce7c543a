"""A whole run that asks a model of somebody else on whom it was trained, as its owner's file tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import yaml
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.ensemble import RandomForestClassifier

from leakrange.data.importing import ColumnUse, import_set
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, value
from tests.serving import serving

pytestmark = pytest.mark.timeout(900)
COLUMNS = ("age", "hours", "tenure")
JOBS = ("clerk", "nurse", "pilot")
ROWS, POOL, POPULATION = 720, 160, 80


class Row(BaseModel):
    age: float
    hours: float
    tenure: float
    job: Literal["clerk", "nurse", "pilot"]


class Asked(BaseModel):
    rows: list[Row]


class Records:
    """The rows of an owner: whether somebody pays late is half a matter of chance, so that only a model that
    learnt a row by heart knows it."""

    def __init__(self) -> None:
        rng = np.random.default_rng(4)
        self.rows = np.round(rng.normal((40, 8, 3), (9, 2, 1), size=(ROWS, 3)), 3)
        self.late = (self.rows[:, 0] - 40) / 9 + rng.normal(size=ROWS) > 0
        self.used = rng.random(ROWS) < 0.3
        self.job = rng.integers(len(JOBS), size=ROWS)

    def written(self, path: Path) -> Path:
        lines = [",".join((*COLUMNS, "job", "late", "used"))]
        for row, job, late, used in zip(self.rows, self.job, self.late, self.used, strict=True):
            lines.append(",".join((*map(str, row), JOBS[job], "late" if late else "in time", str(int(used)))))
        path.write_text("\n".join(lines))
        return path

    def served(self, *, used: bool) -> FastAPI:
        """A forest that learnt by heart the rows that were used; unless ``used``, half of all rows."""
        learnt = self.used if used else np.random.default_rng(9).random(ROWS) < 0.5
        forest = RandomForestClassifier(20, bootstrap=False, max_features=1, random_state=0, n_jobs=1)
        forest.fit(np.column_stack([self.rows, self.job])[learnt], self.late[learnt])
        app = FastAPI()

        @app.post("/late")
        async def late(asked: Asked) -> dict[str, Any]:
            rows = np.array([[row.age, row.hours, row.tenure, JOBS.index(row.job)] for row in asked.rows])
            return {"predictions": [{"p_late": each} for each in forest.predict_proba(rows)[:, 1].tolist()]}

        return app


@pytest.fixture(scope="module")
def with_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """A range whose parties have an imported set ``payers``."""
    folder = tmp_path_factory.mktemp("payers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        import_set(Records().written(folder / "payers.csv"), "payers", ColumnUse("late", member="used"))
        standing = EmbeddedRange(folder / "range")
        standing.up(LEAKRANGE_DATA=str(folder / "data"))
        controller = Controller(standing)
        yield controller
        controller.client.close()
        standing.down()


def membership(url: str, name: str) -> str:
    table = {"encoding": "table", "columns": [*COLUMNS, "job"], "categories": {"job": JOBS}}
    endpoint = {
        "name": "late",
        "owner": "payments@example.com",
        "card": {"input": table, "classes": ["in time", "late"]},
        "steps": [
            {
                "post": f"{url}/late",
                "json": {"rows": "${rows}"},
                "read": {"each": "$.predictions[*]", "values": "$.p_late", "of": "late"},
            }
        ],
    }
    return yaml.safe_dump(
        {
            "name": name,
            "seeds": [0],
            "data": {"name": "payers", "auxiliary": 0.3, "subset": {"pool": POOL, "members": "used"}},
            "schedule": {"epochs": 12, "batch": 20, "lr": 0.01, "select": "last"},
            "providers": {"theirs": {"behaviour": "remote", "target": "late", "endpoint": endpoint}},
            "clients": {"phones": {"kind": "edge", "count": 2, "samples": 100}},
            "attacks": {
                "loss": {"kind": "loss-threshold"},
                "rmia": {"kind": "rmia", "shadows": 2, "population": POPULATION},
                "blind": {"kind": "blind"},
            },
            "defences": {"none": [], "label-only": ["argmax"]},
            "budgets": [POOL + POPULATION],
        }
    )


def test_members_of_a_model_that_learnt_by_heart_are_found(with_data: Controller) -> None:
    with serving(Records().served(used=True)) as url:
        finished = with_data.run(membership(url, "by-heart"))
    assert finished.view["state"] == "done", finished.view["error"]
    budget = f"b{POOL + POPULATION}"
    for attack, least in (("loss", 0.9), ("rmia", 0.8)):
        trial = finished.trials[f"theirs-s0.none.{attack}.unaware.{budget}"]
        assert value(trial, "auc") > least, attack
        assert value(trial, "beyond_blind") > 0.2
        assert (value(trial, "records"), trial["victims"]) == (POOL, POOL // 2)
        label = finished.trials[f"theirs-s0.label-only.{attack}.aware.{budget}"]
        assert 0.6 < value(label, "auc") < value(trial, "auc")
    blind = finished.trials[f"theirs-s0.none.blind.unaware.{budget}"]
    assert blind["metrics"]["auc"]["low"] < 0.5 < blind["metrics"]["auc"]["high"]
    assert finished.view["jobs"]["train"]["total"] == 2  # the shadows alone
    for page in (f"/runs/{finished.id}", f"/v1/runs/{finished.id}/report"):
        assert with_data.ask("GET", page).text


def test_nobody_is_found_where_the_model_learnt_from_rows_drawn_at_random(with_data: Controller) -> None:
    with serving(Records().served(used=False)) as url:
        finished = with_data.run(membership(url, "at-random"))
    assert finished.view["state"] == "done", finished.view["error"]
    for name, trial in finished.trials.items():
        assert trial["metrics"]["auc"]["low"] < 0.5 < trial["metrics"]["auc"]["high"], name
        assert abs(value(trial, "auc") - 0.5) < 0.15, name
