"""A campaign, which has no services, measures what a range measures, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from leakrange.campaign.parties import Folders, judge
from leakrange.campaign.plan import recipes
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from tests.range.conftest import Controller, scenario

pytestmark = pytest.mark.timeout(900)

ATTRIBUTES = scenario(
    "attributes",
    defences={"none": [], "rounded": [{"round": {"decimals": 1}}], "pruned": [{"prune": {"amount": 0.5}}]},
)
PICTURES = scenario(
    "pictures",
    data={"name": "digits", "size": 16, "auxiliary": 0.3},
    net={"name": "strided-conv", "width": 0.5},
    schedule={"epochs": 2, "batch": 32, "lr": 0.005},
    providers={
        "vicious": {
            "behaviour": "vicious",
            "target": "digit",
            "beta": {"c": 1, "r": 3},
            "decoder": {"width": 0.5},
        }
    },
    attacks={
        "inside": {"kind": "vicious-decoder"},
        "outside": {"kind": "reconstruction", "knowledge": "aware", "auxiliary": 200, "epochs": 2},
    },
    budgets=[200],
)
MEMBERS = scenario(
    "members",
    data={"name": "digits", "size": 16, "auxiliary": 0.2, "subset": {"pool": 160}},
    net={"width": 0.5},
    schedule={"epochs": 6, "batch": 20, "lr": 0.003, "select": "last"},
    providers={"overfitted": {"behaviour": "honest", "target": "digit", "release": "logits"}},
    attacks={
        "loss": {"kind": "loss-threshold"},
        "lira": {"kind": "lira", "shadows": 2},
        "rmia": {"kind": "rmia", "shadows": 2, "population": 60},
    },
    budgets=[220],
)
FEDERATION = {"devices": 3, "share": 1.0, "rounds": 1, "pretraining": 0, "local_epochs": 1}
FEATURES = scenario(
    "features",
    data={"name": "synthtable", "count": 800, "auxiliary": 0.4},
    net={"name": "tappfl-mlp"},
    schedule={"epochs": 2, "batch": 50, "lr": 0.003},
    providers={
        "honest": {"behaviour": "honest", "target": "passes", "sensitive": "group", "release": "features"}
    },
    defences={"none": [], "hidden": [{"tappfl": {"private": "group", "federation": FEDERATION}}]},
    attacks={"outside": {"kind": "attribute-inference", "auxiliary": 100, "knowledge": "aware"}},
    budgets=[100],
)


@pytest.mark.parametrize(
    "text", [ATTRIBUTES, PICTURES, MEMBERS, FEATURES], ids=["attributes", "pictures", "members", "features"]
)
def test_a_campaign_has_the_figures_of_a_range(text: str, controller: Controller, tmp_path: Path) -> None:
    run = controller.run(text)
    assert run.view["state"] == "done", run.view["error"]
    plan, folders = expand(parse(yaml.safe_load(text))), Folders(tmp_path)
    assert {trial.result.id for trial in plan.trials} == set(run.trials)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the fleet's workers have
    try:
        for planned in plan.trials:
            for recipe in recipes(plan, planned):
                if folders.find(recipe.digest()) is None:
                    folders.train(recipe, "cpu")
            result = judge(plan, planned, folders, "cpu").model_dump(mode="json")
            expected = run.trials[planned.result.id]
            assert result["victims"] == expected["victims"]
            assert result["spent"] == expected["spent"]
            assert result["metrics"].keys() == expected["metrics"].keys()
            for name, estimate in expected["metrics"].items():
                assert result["metrics"][name] == estimate, (planned.result.id, name)
    finally:
        torch.set_num_threads(threads)
