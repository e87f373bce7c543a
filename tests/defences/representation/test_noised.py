"""What is proven of devices that send noised updates, in the record of their training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leakrange.data import Samples
from leakrange.defences.artifact import find, load, save
from leakrange.defences.extractor_training import train_extractor
from leakrange.federation.accounting import epsilon
from leakrange.federation.rounds import Rounds
from tests.defences.representation.conftest import link_of, recipe_of

SHORT = {"devices": 4, "share": 0.5, "rounds": 3, "pretraining": 1, "local_epochs": 1}


@pytest.mark.parametrize("name", ["dp-gaussian", "dp-laplace"])
def test_the_record_of_a_training_tells_epsilon(name: str, points: Samples, tmp_path: Path) -> None:
    trained = train_extractor(recipe_of(name, noise=1.0, federation=SHORT), points)
    record = load(save(tmp_path, trained)).record
    told = json.loads(json.dumps(record["federation"]["differential_privacy"], allow_nan=False))
    rounds = Rounds(link_of(name, federation=SHORT).parameters.federation, {}, 0)
    turns = [sum(device in rounds.chosen(number) for number in range(4)) for device in range(4)]
    assert told["turns"] == max(turns)
    assert (told["rounds"], told["share"], told["delta"]) == (4, 0.5, 1e-5)
    noise = name.removeprefix("dp-")
    assert told["epsilon"]["server"] == pytest.approx(epsilon(noise, 0.5, max(turns)))  # type: ignore[arg-type]
    assert 0.0 < told["epsilon"]["extractor"] < told["epsilon"]["server"]
    assert find(tmp_path, trained.recipe.digest()) is not None


def test_other_defences_prove_nothing(points: Samples) -> None:
    trained = train_extractor(recipe_of("compressed", federation=SHORT), points)
    assert "differential_privacy" not in trained.record["federation"]


@pytest.mark.parametrize("name", ["dp-gaussian", "dp-laplace"])
def test_epsilon_is_finite_json_even_for_next_to_no_noise(name: str) -> None:
    link = link_of(name, noise=0.001, federation={**SHORT, "devices": 10, "share": 0.2})
    told = link.accounted([20] * 10, [4] * 10, [2] * 30)
    assert json.dumps(told, allow_nan=False)
    assert told["epsilon"]["server"] > told["epsilon"]["extractor"] > 1000
    more = link_of(name, noise=2.0, federation={**SHORT, "devices": 10, "share": 0.2})
    assert 0 < more.accounted([20] * 10, [4] * 10, [2] * 30)["epsilon"]["extractor"] < 10


def test_lost_updates_take_their_noise_with_them() -> None:
    link = link_of("dp-gaussian", noise=1.0, federation={**SHORT, "devices": 10, "share": 0.5})
    whole, lost = (link.accounted([20] * 10, [4] * 10, accepted) for accepted in ([5, 5, 5], [5, 1, 0]))
    assert lost["epsilon"]["extractor"] > whole["epsilon"]["extractor"]
    assert lost["epsilon"]["server"] == whole["epsilon"]["server"]
