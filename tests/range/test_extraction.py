"""A run that copies a model from its answers, under each of three defences."""

from __future__ import annotations

from tests.range.conftest import Controller, scenario

FEW, MANY = 60, 500


SCENARIO = {
    "data": {"name": "digits", "size": 16, "auxiliary": 0.4},
    "net": {"width": 0.5},
    "schedule": {"epochs": 8, "batch": 50, "lr": 0.003},
    "providers": {"honest": {"behaviour": "honest", "target": "digit", "release": "softmax"}},
    "clients": {"phones": {"kind": "edge", "count": 2, "samples": 250}},
}


def test_random_samples_and_chosen_ones_are_paid_for_once(controller: Controller) -> None:
    copy = {"kind": "extraction", "knowledge": ["unaware"], "epochs": 12, "net": {"name": "mlp"}}
    text = scenario(
        "queries",
        **SCENARIO,
        attacks={
            "drawn": copy | {"queries": "drawn"},
            "learner": copy | {"queries": "k-centre", "rounds": 3},
        },
        budgets=[120],
    )
    run = controller.run(text)
    assert run.view["state"] == "done", run.view["error"]
    assert {trial["spent"] for trial in run.trials.values()} == {120}
    learner = "honest-s0.none.learner.unaware.b120"
    figures = {name: trial["metrics"]["fidelity"]["value"] for name, trial in run.trials.items()}
    assert figures[learner] > 0.6
    assert figures["honest-s0.none.drawn.unaware.b120"] < figures[learner] - 0.2
    assert run.account("attacker", learner)["spent"] == 120
    assert run.account("attacker", "honest-s0.none.drawn0")["spent"] == 120
    again = controller.run(text)
    assert again.trials == run.trials
    assert not any(entry["spent"] for entry in again.results["ledger"] if ".attacker." in entry["name"])


def test_a_copy_agrees_more_the_more_is_asked_whatever_the_answers_hide(controller: Controller) -> None:
    text = scenario(
        "extraction",
        **SCENARIO,
        attacks={"copy": {"kind": "extraction", "knowledge": ["unaware"], "epochs": 12}},
        defences={"none": [], "rounded": [{"round": {"decimals": 1}}], "label-only": ["argmax"]},
        budgets=[FEW, MANY],
    )
    run = controller.run(text)
    assert run.view["state"] == "done", run.view["error"]
    fidelity = {}
    for name, trial in run.trials.items():
        _, defence, _, _, budget = name.split(".")
        metrics = trial["metrics"]
        fidelity[defence, int(budget[1:])] = metrics["fidelity"]["value"]
        assert metrics["fidelity"]["low"] <= metrics["fidelity"]["value"] <= metrics["fidelity"]["high"]
        assert metrics["fidelity_majority"]["value"] < 0.2
        assert trial["spent"] == int(budget[1:])
        assert trial["victims"] == 250
    for defence in ("none", "rounded", "label-only"):
        assert fidelity[defence, MANY] > fidelity[defence, FEW] + 0.1
        assert fidelity[defence, MANY] > 0.8
