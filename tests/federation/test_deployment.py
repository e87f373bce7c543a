"""A federation between processes: a SuperLink, a SuperNode for each device, and devices that are killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import torch

from leakrange.data import load
from leakrange.defences.extractor_training import finished
from leakrange.defences.federated import Devices
from leakrange.defences.outcome import TrainedDefence
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays, Lost, Update
from leakrange.jobs.recipe import TrainingRecipe
from tests.federation.flower import ROOT, needs_flower, python, recipe, same_extractor

pytestmark = [
    needs_flower,
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc"),
]

KILLED = (1, 3)


def test_rounds_between_processes_are_those_of_one_process_and_survive_killed_devices(tmp_path: Path) -> None:
    wanted = recipe(devices=5, share=1.0, rounds=2, pretraining=0)
    (tmp_path / "recipe.json").write_text(wanted.model_dump_json())
    link, *ports = free_ports(6)
    with ExitStack() as stack:
        own = stack.enter_context(started(tmp_path, "superlink", "--port", str(link)))
        nodes = {}
        for device, port in enumerate(ports):
            # One of them is not told its number.
            told = [] if device == 2 else ["--device", str(device)]
            nodes[device] = stack.enter_context(
                started(tmp_path, "supernode", "--superlink", f"127.0.0.1:{link}", "--port", str(port), *told)
            )
        models = ["--models", str(tmp_path / "models"), "--gather", "240", "--answer", "120"]
        where = ["--superlink", f"127.0.0.1:{link}"]
        run = stack.enter_context(started(tmp_path, "run", str(tmp_path / "recipe.json"), *models, *where))
        for device in KILLED:
            until(lambda node=nodes[device]: node.log().count("Receiving: train message") == 2)
            until(lambda node=nodes[device]: "flwr-clientapp" in node.commands())
            nodes[device].kill()
        assert run.process.wait(timeout=600) == 0, run.log() + own.log()
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
    devices = Devices(wanted, load(wanted.data))
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


class Running:
    """A command of the federation, with all processes that it has started."""

    def __init__(self, arguments: tuple[str, ...], file: Path, home: Path) -> None:
        self.file = file
        with file.open("wb") as log:
            self.process = subprocess.Popen(
                [str(python()), "-m", "services.federation", *arguments],
                cwd=ROOT,
                env=os.environ | {"FLWR_HOME": str(home)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self) -> str:
        return self.file.read_text(errors="replace")

    def commands(self) -> str:
        return "\n".join(command for _, command in self._tree())

    def kill(self) -> None:
        """SIGKILL to all of them at once."""
        for pid, _ in [*self._tree()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()

    def _tree(self) -> list[tuple[int, str]]:
        parents, commands = {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                commands[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue  # it has ended
            parents[int(folder.name)] = int(fields[1])
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return [(pid, commands.get(pid, "")) for pid in found]


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[Running]:
    number = len([*folder.glob("*.log")])
    running = Running(arguments, folder / f"{number}-{arguments[0]}.log", folder / f"home-{number}")
    try:
        yield running
    finally:
        running.kill()


def until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
