from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import torch

from leakrange.data import load
from leakrange.defences.extractor_training import train_extractor
from leakrange.defences.federated import FederatedDevices
from leakrange.federation.rounds import Rounds
from tests.federation.flower import ROOT, needs_flower, python, ran, recipe, same_extractor

pytestmark = needs_flower


def test_the_simulation_makes_the_same_file_as_one_process_and_only_once(tmp_path: Path) -> None:
    wanted = recipe(devices=6, share=0.5, rounds=2, pretraining=1)
    twice = ",".join([wanted.model_dump_json()] * 2)
    (tmp_path / "recipes.json").write_text(f"[{twice}]")
    models = tmp_path / "models"
    command = [
        "-m",
        "leakrange.services.federation",
        "run",
        str(tmp_path / "recipes.json"),
        "--processes",
        "2",
    ]
    _, told = ran([*command, "--models", str(models)], tmp_path)
    assert told.count('"event": "round"') == 3
    assert told.count('"event": "stored"') == 1
    assert told.count('"event": "there already"') == 1
    torch.set_num_threads(1)
    here = train_extractor(wanted, load(wanted.data))
    other = recipe(devices=6, share=0.5, rounds=2, pretraining=1, participation="chosen")
    folder = models / wanted.digest()
    assert same_extractor(folder, here)
    assert not same_extractor(folder, train_extractor(other, load(other.data)))
    record = json.loads((folder / "training.json").read_text())
    for told, entry in zip(record["history"], here.history, strict=True):
        assert without_seconds(told) == pytest.approx(without_seconds(entry), abs=1e-5)
    assert record["federation"] == here.record["federation"]


@pytest.mark.slow
def test_devices_that_fail_lie_or_die_do_not_spoil_a_round(tmp_path: Path) -> None:
    """Device 5 alone behaves, and in the second round 4 as well: see `tests.federation.hostile`."""
    wanted = recipe(devices=7, share=1.0, rounds=2, pretraining=0)
    (tmp_path / "recipe.json").write_text(wanted.model_dump_json())
    program = ["-m", "tests.federation.hostile", str(tmp_path / "recipe.json")]
    record = json.loads(ran(program, tmp_path)[0].splitlines()[-1])
    told = {(each["round"], each["device"]): each for each in record["federation"]["left_out"]}
    kinds = {
        (1, 0): "lost",
        (1, 1): "refused",
        (1, 2): "refused",
        (1, 3): "lost",
        (1, 4): "lost",
        (1, 6): "lost",
    }
    kinds |= {(2, 0): "lost", (2, 1): "refused", (2, 2): "refused", (2, 3): "lost", (2, 6): "lost"}
    assert {key: each["kind"] for key, each in told.items()} == kinds
    for device, reason in {
        0: "KeyError",
        1: "not finite",
        2: "moved",
        3: "cannot be read",
        4: "actor",
    }.items():
        assert reason in told[1, device]["reason"]
    torch.set_num_threads(1)
    devices = FederatedDevices(wanted, load(wanted.data))
    rounds = Rounds(devices.federation, devices.initial(), wanted.seed)
    first, kept = devices.train(rounds.shared, {5: None}, 0)[5]
    rounds.close([first])
    second = [
        devices.train(rounds.shared, {each: state}, 1)[each][0] for each, state in ((4, None), (5, kept))
    ]
    rounds.close(second)
    for found, expected in zip(record["history"], rounds.history, strict=True):
        assert found["accepted"] == expected["accepted"]
        assert found["loss"] == pytest.approx(expected["loss"], abs=1e-5)


@pytest.mark.slow
def test_what_is_not_done_over_flower_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    plain, secure = recipe(devices=6), recipe(devices=6, share=1.0, secure=True)
    content = f"[{plain.model_dump_json()}, {secure.model_dump_json()}]"
    for given, reason in ((content, "no secure aggregation"), ("[", "no JSON")):
        (tmp_path / "recipes.json").write_text(given)
        command = ["-m", "leakrange.services.federation", "run", str(tmp_path / "recipes.json")]
        done = subprocess.run(
            [str(python()), *command, "--models", str(tmp_path / "models")],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert reason in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "models").exists()


def without_seconds(entry: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in entry.items() if name != "seconds"}
