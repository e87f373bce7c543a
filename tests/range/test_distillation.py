"""A whole run with a student: taught over HTTP under a budget, used, and read by the provider."""

from __future__ import annotations

import pytest

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from tests.range.conftest import Controller, scenario, value

pytestmark = pytest.mark.timeout(900)


def test_curiosity_is_handed_on_to_a_student_and_every_answer_is_paid_for(controller: Controller) -> None:
    text = scenario(
        "distillation",
        data={"name": "digits", "size": 16, "auxiliary": 0.35},
        schedule={"epochs": 20, "batch": 32, "lr": 0.003},
        providers={
            "soft": {
                "behaviour": "curious",
                "method": "regularized",
                "target": "parity",
                "sensitive": "large",
                "release": "softmax",
                "beta": {"y": 0.5, "s": 0.5},
            }
        },
        attacks={
            "inside": {"kind": "curious-decoder"},
            "student": {"kind": "distillation"},
            "anew": {"kind": "distillation", "threshold": "records"},
        },
        defences={"none": [], "label-only": ["argmax"]},
        budgets=[400],
    )
    run = controller.run(text)
    run.check(6)
    teacher, student, anew = (
        run.trials[f"soft-s0.none.{name}.b400"] for name in ("inside.unaware", "student.aware", "anew.aware")
    )
    assert value(teacher, "curiosity") > 0.85
    assert value(student, "honesty") > 0.85
    assert value(student, "curiosity") > 0.8  # of what parity itself tells nothing gets above that
    assert (student["victims"], student["spent"]) == (anew["victims"], anew["spent"]) == (192, 400)
    # Another cut of the same scores: what they rank is what they ranked.
    assert value(anew, "auc") == pytest.approx(value(student, "auc"), abs=1e-6)
    assert value(anew, "honesty") == value(student, "honesty")
    assert value(anew, "curiosity") > 0.8
    taught_by_labels = run.trials["soft-s0.label-only.student.aware.b400"]
    assert value(taught_by_labels, "honesty") > 0.8
    assert value(taught_by_labels, "curiosity") < 0.72
    spent = {entry["name"].removeprefix(f"{run.id}."): entry["spent"] for entry in run.results["ledger"]}
    assert spent["attacker.soft-s0.none.q0"] == spent["attacker.soft-s0.label-only.q0"] == 400
    students = {name: amount for name, amount in spent.items() if name.startswith("student.")}
    own = len(load(DataSpec(name="digits", size=16, auxiliary=0.35)).where("train"))
    assert sorted(students.values()) == [192, 192, 192 + own, 192 + own]
    again = controller.run(text)
    again.check(6)
    assert again.trials == run.trials
    paid = [entry["spent"] for entry in again.results["ledger"] if ".users." not in entry["name"]]
    assert set(paid) == {0}
