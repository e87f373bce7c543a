"""A federation between processes: a SuperLink, a SuperNode for each device, and devices that are killed."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from leakrange.data import load
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.extractor_training import finished
from leakrange.defences.federated import FederatedDevices
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays, Lost, Update
from leakrange.jobs.recipe import TrainingRecipe
from tests.federation.flower import (
    enrolled,
    free_ports,
    needs_flower,
    recipe,
    same_extractor,
    started,
    superlink,
    until,
)

pytestmark = [
    needs_flower,
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc"),
]

KILLED = (1, 3)


def test_rounds_between_processes_are_those_of_one_process_and_survive_killed_devices(tmp_path: Path) -> None:
    wanted = recipe(devices=5, share=1.0, rounds=2, pretraining=0)
    (tmp_path / "recipe.json").write_text(wanted.model_dump_json())
    with ExitStack() as stack:
        link = stack.enter_context(superlink(tmp_path))
        nodes = {}
        for device, port in enumerate(free_ports(5)):
            where = ["--superlink", link.address, "--certificate", str(link.certificate)]
            folder = str(tmp_path / f"device-{device}")
            nodes[device] = stack.enter_context(
                started(tmp_path, "supernode", folder, *where, "--port", str(port))
            )
        order = ["run", str(tmp_path / "recipe.json"), "--models", str(tmp_path / "models")]
        patience = ["--gather", "600", "--answer", "600"]
        run = stack.enter_context(started(tmp_path, *order, "--link", str(link.folder), *patience))
        # They are there, and wait until somebody enrols them.
        keys = [tmp_path / f"device-{device}" / "device.pub" for device in nodes]
        until(lambda: all(key.exists() for key in keys))
        enrolled(link.folder, *keys)
        for device in KILLED:
            until(lambda node=nodes[device]: node.log().count("Receiving: train message") == 2)
            until(lambda node=nodes[device]: "flwr-clientapp" in node.commands())
            nodes[device].kill()
        assert run.process.wait(timeout=1800) == 0, run.log() + link.running.log()
    folder = tmp_path / "models" / wanted.digest()
    record = json.loads((folder / "training.json").read_text())
    told = [(each["round"], each["device"], each["kind"]) for each in record["federation"]["left_out"]]
    assert told == [(2, device, "lost") for device in KILLED]
    rounds, here = expected(wanted)
    for found, entry in zip(record["history"], rounds.history, strict=True):
        assert {name: found[name] for name in entry} == pytest.approx(entry, abs=1e-5)
    assert same_extractor(folder, here)


def expected(wanted: TrainingRecipe) -> tuple[Rounds, TrainedDefence]:
    """The same rounds in this process, of which the second loses the killed devices."""
    torch.set_num_threads(1)
    devices = FederatedDevices(wanted, load(wanted.data))
    rounds = Rounds(devices.federation, devices.initial(), wanted.seed)
    states: dict[int, Arrays] = {}
    while not rounds.over:
        answers: list[Update | Lost] = []
        for device in rounds.chosen():
            if rounds.number == 1 and device in KILLED:
                answers.append(Lost(device, "killed"))
                continue
            state = {device: states.get(device)}
            update, states[device] = devices.train(rounds.shared, state, rounds.number)[device]
            answers.append(update)
        rounds.close(answers)
    return rounds, finished(devices, rounds, {}, 0.0)
