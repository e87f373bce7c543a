"""A run in which devices learn an extractor together and upload its features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from leakrange.data import load
from leakrange.data.spans import span_of
from leakrange.defences.artifact import find
from leakrange.defences.artifact import load as load_artifact
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, get_array
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, scenario, value

pytestmark = pytest.mark.timeout(900)
DATA = {"name": "synthtable", "count": 2000, "auxiliary": 0.25}
HONEST = {"behaviour": "honest", "target": "passes", "sensitive": "group", "release": "features"}
ALL = {"devices": 4, "share": 1.0, "rounds": 14, "pretraining": 2, "local_epochs": 2}


def tappfl(**changes: Any) -> list[dict[str, Any]]:
    return [{"tappfl": {"private": "group", "federation": ALL, **changes}}]


TEXT = scenario(
    "represented",
    data=DATA,
    net={"name": "tappfl-mlp"},
    schedule={"epochs": 6, "batch": 50, "lr": 0.003},
    providers={"honest": HONEST},
    defences={"none": [], "kept": tappfl(strength=0), "hidden": tappfl(strength=0.8)},
    attacks={"outside": {"kind": "attribute-inference", "auxiliary": 300, "knowledge": "aware"}},
    budgets=[300],
)


@pytest.fixture(scope="module")
def run(controller: Controller) -> Finished:
    return controller.run(TEXT)


def of(run: Finished, defence: str) -> dict[str, Any]:
    [found] = [trial for name, trial in run.trials.items() if f".{defence}." in name]
    return found


def test_features_hide_the_group_and_keep_the_task(run: Finished) -> None:
    run.check(3)
    none, kept, hidden = (of(run, name) for name in ("none", "kept", "hidden"))
    assert value(kept, "curiosity") > 0.85
    assert value(hidden, "curiosity") < 0.75
    for trial in (none, kept, hidden):
        assert value(trial, "honesty") > 0.82
    assert "local_curiosity" not in none["metrics"]
    assert value(kept, "local_curiosity") > 0.8 > 0.65 > value(hidden, "local_curiosity")
    for trial in (kept, hidden):
        assert value(trial, "representation_norm") > 0
        assert value(trial, "decision_errors") >= value(trial, "decision_error_floor")


def test_whoever_has_the_extractor_asks_nobody(run: Finished) -> None:
    assert of(run, "none")["spent"] == 300
    assert of(run, "hidden")["spent"] == 0


def test_what_devices_upload_are_the_extractors_features(
    run: Finished, embedded_range: EmbeddedRange
) -> None:
    plan = expand(parse(TEXT))
    [stream] = [each for each in plan.streams if each.defence == "hidden"]
    [model] = [each for each in plan.models if each.id == stream.model]
    [policy] = [each for each in plan.policies if each.defence == "hidden"]
    assert model.extractor is not None
    folder = find(embedded_range.folder.models, model.extractor.artifact)
    assert folder is not None
    artifact = load_artifact(folder)
    assert artifact.record["federation"]["left_out"] == []
    assert len(artifact.record["history"]) == 16
    span = stream.spans[0]
    data, chosen = span_of(span)
    with torch.inference_mode():
        wanted = artifact.module(torch.from_numpy(data.values[chosen].copy())).numpy()
    stored = FolderStore(embedded_range.folder.releases)
    found = get_array(stored, f"{stream.identity(model, policy, span)}.npy")
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert load(DataSpec(**DATA)).fingerprint == data.fingerprint
