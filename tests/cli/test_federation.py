from __future__ import annotations

import json
from pathlib import Path

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from tests.embedded import leakrange

SCENARIO = """\
name: devices-learn
data: {name: diabetes}
net: {name: tappfl-mlp}
seeds: [0, 4]
schedule: {epochs: 2, batch: 50, lr: 0.001}
providers:
  honest: {behaviour: honest, target: progression, release: features}
clients:
  phones: {kind: edge, count: 5, uploads: features}
defences:
  none: []
  tappfl: [tappfl: {private: sex, federation: {devices: 6, rounds: 2}}]
attacks:
  outside: {kind: attribute-inference, sensitive: sex, auxiliary: 20}
budgets: [20]
"""


def test_recipes_are_those_that_a_range_looks_for(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    done = leakrange("federation", "recipes", str(tmp_path / "s.yaml"))
    assert done.returncode == 0, done.stderr
    printed = [TrainingRecipe.model_validate(each) for each in json.loads(done.stdout)]
    assert [each.seed for each in printed] == [0, 4]
    planned = {each.artifact for each in expand(parse(SCENARIO.encode())).obfuscators}
    assert {each.digest() for each in printed} == planned


def test_other_trained_defences_are_not_for_a_federation(tmp_path: Path) -> None:
    federated = "[tappfl: {private: sex, federation: {devices: 6, rounds: 2}}]"
    assert federated in SCENARIO
    trained = "[gap: {private: sex, useful: progression, net: mlp, epochs: 2}]"
    (tmp_path / "s.yaml").write_text(SCENARIO.replace(federated, trained))
    done = leakrange("federation", "recipes", str(tmp_path / "s.yaml"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_mistakes_are_told_as_by_a_check(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("diabetes", "diabets"))
    done = leakrange("federation", "recipes", str(tmp_path / "s.yaml"))
    assert done.returncode == 2
    assert "diabets" in done.stderr
    assert "Traceback" not in done.stderr
