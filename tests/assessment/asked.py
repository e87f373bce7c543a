"""A question about a table of somebody's own, and results of its run that say what a test needs."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import yaml

from leakrange.assessment.document import AssessmentPlan
from leakrange.assessment.question import EndpointQuestion
from leakrange.data.importing import ColumnUse, import_set
from leakrange.metrics import Estimate
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.targets.target import read_target
from tests.report.build import area, estimates

__all__ = ["TARGET", "area", "payers", "question", "results", "trial"]

TARGET = {
    "name": "late",
    "owner": "payments@example.com",
    "card": {"input": {"encoding": "table", "columns": ["age", "hours"]}, "classes": ["in time", "late"]},
    "steps": [
        {
            "post": "http://127.0.0.1:9/late",
            "json": {"rows": "${rows}"},
            "read": {"each": "$.predictions[*]", "values": "$.p_late", "of": "late"},
        }
    ],
    "limits": {"price": "0.02 EUR", "rate": "10/s", "batch": 8},
}


def payers(folder: Path, rows: int = 600, used: float = 0.4, women: float = 0.3) -> None:
    """Import a set ``payers``: whether somebody pays late, their gender, and who was ``used`` for training.
    There are fewer women, and fewer who were used, than others."""
    draw = random.Random(5)
    with (folder / "payers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("age", "hours", "gender", "late", "used"))
        for _ in range(rows):
            gender = "f" if draw.random() < women else "m"
            late = "late" if draw.random() < 0.5 else "in time"
            writer.writerow(
                (
                    draw.randint(18, 80),
                    round(draw.gauss(8, 2), 3),
                    gender,
                    late,
                    int(draw.random() < used),
                )
            )
    import_set(folder / "payers.csv", "payers", ColumnUse("late", ("gender",), member="used"))


def question(**changes: object) -> EndpointQuestion:
    """A question about members and the gender, with a part of it changed. ``card`` changes the target's."""
    card = changes.pop("card", {})
    assert isinstance(card, dict)
    target = read_target(yaml.safe_dump(TARGET | {"card": {**TARGET["card"], **card}}))  # type: ignore[dict-item]
    given = {"data": "payers", "attribute": "late", "hidden": ("gender",), "members": "used", "budget": 900}
    return EndpointQuestion.model_validate({"target": target, **given, **changes})


def trial(
    attack: str = "quantile", about: str = "membership", budget: int = 900, **figures: float | Estimate
) -> TrialResult:
    """A finished trial of an attack on members, or on an attribute."""
    return TrialResult(
        id=f"{attack}.{about}.{budget}",
        kind="membership" if about == "membership" else "attribute",
        provider="endpoint",
        data="payers",
        behaviour="remote",
        release="softmax",
        target="late",
        sensitive=about,
        defence="none",
        attack=attack,
        knowledge="unaware",
        budget=budget,
        seed=0,
        state="done",
        spent=budget,
        metrics=estimates(figures),
    )


def results(plan: AssessmentPlan, *trials: TrialResult) -> RunResults:
    """The results of the plan's run."""
    return RunResults(
        run="20261128-000000-abcdef",
        name=plan.name,
        state="done",
        created="2026-11-28T00:00:00+00:00",
        finished="2026-11-28T00:01:00+00:00",
        scenario_yaml=plan.scenario,
        scenario=yaml.safe_load(plan.scenario),
        environment={"leakrange": "0.1.0"},
        trials=list(trials),
        models=[],
        seconds=60.0,
    )
