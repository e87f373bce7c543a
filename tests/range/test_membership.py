"""A whole run against a model that learnt by heart: shadows are trained in the fleet, the pool is asked over
HTTP."""

from __future__ import annotations

import pytest

from tests.range.conftest import Controller, scenario

pytestmark = pytest.mark.timeout(900)
POOL, POPULATION, QUERIES, WALK = 160, 100, 6, 80
COSTS = {
    "loss": POOL,
    "lira": POOL,
    "rmia": POOL + POPULATION,
    "votes": POOL * QUERIES,
    "oslo": POOL,
    "quantile": POOL + POPULATION,
    "boundary": POOL * WALK,
    "stolen": POPULATION,
    "blind": 0,
}
ONCE = {"knowledge": ["unaware", "aware"]}
BUDGETS = [POOL, POOL + POPULATION, POOL * WALK]


def test_members_are_found_under_a_budget_and_shadows_are_trained_once(controller: Controller) -> None:
    text = scenario(
        "membership",
        data={"name": "digits", "size": 16, "auxiliary": 0.2, "subset": {"pool": POOL}},
        net={"width": 0.5},
        schedule={"epochs": 12, "batch": 20, "lr": 0.003, "select": "last"},
        providers={"overfitted": {"behaviour": "honest", "target": "digit", "release": "logits"}},
        attacks={
            "loss": {"kind": "loss-threshold", **ONCE},
            "lira": {"kind": "lira", "shadows": 4, **ONCE},
            "rmia": {"kind": "rmia", "shadows": 2, "population": POPULATION, **ONCE},
            "votes": {"kind": "label-votes", "shadows": 4, "queries": QUERIES, **ONCE},
            "oslo": {"kind": "oslo", "shadows": 4},
            "quantile": {"kind": "quantile", "population": POPULATION, **ONCE},
            "boundary": {"kind": "boundary", "queries": WALK},
            "stolen": {
                "kind": "stolen-model",
                "knowledge": "unaware",
                "auxiliary": POPULATION,
                "epochs": 5,
                "net": {"name": "mlp"},
            },
            "blind": {"kind": "blind"},
        },
        defences={"none": [], "label-only": ["argmax"]},
        budgets=BUDGETS,
    )
    run = controller.run(text)
    assert run.view["state"] == "done", run.view["error"]
    # There is a trial where the budget answers for all that an attack asks; of no defence nothing is known.
    cells = {name.removeprefix("overfitted-s0.") for name in run.trials}
    known = {"none": ["unaware"], "label-only": ["unaware", "aware"]}
    assert cells == {
        f"{defence}.{name}.{knowledge}.b{budget}"
        for name, cost in COSTS.items()
        for defence in known
        for knowledge in (
            known[defence] if name not in ("blind", "boundary", "oslo", "stolen") else ["unaware"]
        )
        for budget in BUDGETS
        if cost <= budget
    }
    [blind] = {trial["metrics"]["auc"]["value"] for name, trial in run.trials.items() if ".blind." in name}
    for name, trial in run.trials.items():
        figures = {name: estimate["value"] for name, estimate in trial["metrics"].items()}
        assert (trial["state"], trial["sensitive"]) == ("done", "membership"), name
        assert (figures["records"], trial["victims"]) == (POOL, POOL // 2)
        assert figures["honesty"] > 0.5
        low, high = trial["metrics"]["auc"]["low"], trial["metrics"]["auc"]["high"]
        assert low <= figures["auc"] <= high
        assert not {"tpr_at_001", "tpr_at_0001"} & set(figures)  # a pool of so few
        if ".blind." in name:
            # Members are drawn at random: whoever sees the records alone cannot tell them.
            assert (trial["spent"], figures["control"]) == (0, 1.0)
            assert low < 0.5
            continue
        attack = name.split(".")[2]
        if attack == "boundary":  # it asks about a record as long as it comes closer
            assert COSTS[attack] / 2 < trial["spent"] <= COSTS[attack]
        else:
            assert trial["spent"] == COSTS[attack]
        assert figures["blind_auc"] == pytest.approx(max(0.5, blind), abs=1e-6)
        assert figures["beyond_blind"] == pytest.approx(figures["auc"] - figures["blind_auc"])
        if attack == "stolen":  # what a copy of so few answers tells is little
            continue
        if ".none." in name or attack in ("votes", "boundary", "oslo"):  # who need labels alone
            assert figures["auc"] > 0.6, name
    asked = {
        entry["name"].removeprefix(f"{run.id}.attacker."): entry["spent"] for entry in run.results["ledger"]
    }
    assert asked["overfitted-s0.none.pool0"] == asked["overfitted-s0.label-only.pool0"] == POOL
    assert (
        asked["overfitted-s0.none.population0"] == asked["overfitted-s0.label-only.population0"] == POPULATION
    )
    assert asked["overfitted-s0.label-only.pool0.v5"] == POOL
    walked = f"overfitted-s0.label-only.boundary.unaware.b{POOL * WALK}"
    assert asked[walked] == run.trials[walked]["spent"]
    assert sorted(spent for name, spent in asked.items() if ".pool0.c" in name) == [POOL, POOL]
    # Four shadows for the pool in each variant and crafted, RMIA's two for its population as well.
    models, asked_shadows = 1 + 4, 4 * (QUERIES + 1) + 2
    for kind, count in (("train", models), ("craft", 1), ("show", asked_shadows)):
        assert run.view["jobs"][kind] == {"total": count, "done": count, "failed": 0}
    messages = [event["data"].get("message", "") for event in run.events if event["event"] == "job.done"]
    assert sum(message.startswith("trained overfitted-") for message in messages) == models
    again = controller.run(text)
    assert again.trials == run.trials
    assert not any(entry["spent"] for entry in again.results["ledger"] if ".users." not in entry["name"])
