"""Flower's environment, which is not the tests' own: what needs it runs there as a process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from leakrange.defences.artifact import TrainedDefence
from leakrange.jobs.recipe import TrainingRecipe
from tests import patience

__all__ = [
    "ROOT",
    "Running",
    "SuperLink",
    "enrolled",
    "free_ports",
    "needs_flower",
    "python",
    "ran",
    "recipe",
    "same_extractor",
    "started",
    "superlink",
    "until",
]

ROOT = Path(__file__).parents[2]


def python() -> Path:
    """The interpreter of the federation's environment."""
    given = os.environ.get("LEAKRANGE_FEDERATION_PYTHON")
    return Path(given) if given else ROOT / ".venv-federation" / "bin" / "python"


needs_flower = pytest.mark.skipif(
    not python().exists(), reason=f"no {python()}: make federation-env, or set LEAKRANGE_FEDERATION_PYTHON"
)


def ran(arguments: Sequence[str], home: Path) -> tuple[str, str]:
    """What a program of that environment has written to standard output, and to standard error."""
    done = subprocess.run(
        [str(python()), *arguments],
        cwd=ROOT,
        # Ray's processes are nicer than others, and would wait for all that else is tested.
        env=os.environ | {"FLWR_HOME": str(home), "RAY_worker_niceness": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout, done.stderr


def same_extractor(folder: Path, here: TrainedDefence) -> bool:
    """Whether a stored extractor is the one of this process, but for the rounding of sums: here devices are
    trained side by side, there one by one."""
    from safetensors.numpy import load_file

    found = load_file(folder / "defence.safetensors")
    wanted = here.module.state_dict()
    assert found.keys() == wanted.keys()
    return all(np.allclose(found[name], wanted[name].numpy(), atol=1e-5) for name in found)


def recipe(**federation: object) -> TrainingRecipe:
    """A recipe for seconds: a few devices with the patients of scikit-learn's diabetes."""
    from leakrange.defences.representation.tappfl import Tappfl, TappflParameters
    from leakrange.jobs.recipe import DataSpec

    given = {"private": "sex", "federation": {"local_epochs": 2, **federation}}
    return Tappfl(TappflParameters.model_validate(given)).recipe(DataSpec(name="diabetes"), 3)


class Running:
    """A module of that environment with its arguments, and all processes that it has started."""

    def __init__(self, arguments: Sequence[str], file: Path, home: Path) -> None:
        self.file = file
        with file.open("wb") as log:
            self.process = subprocess.Popen(
                [str(python()), "-m", *arguments],
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
        pids = [self.process.pid]
        for pid in pids:
            pids += [child for child, parent in parents.items() if parent == pid]
        return [(pid, commands.get(pid, "")) for pid in pids]


@contextmanager
def started(
    folder: Path, *arguments: str, module: str = "leakrange.services.federation"
) -> Iterator[Running]:
    """A command of the federation, which is killed at the end."""
    number = len([*folder.glob("*.log")])
    log, home = folder / f"{number}-{arguments[0]}.log", folder / f"home-{number}"
    running = Running([module, *arguments], log, home)
    try:
        yield running
    finally:
        running.kill()


until = partial(patience.until, seconds=600.0)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


@dataclass(frozen=True)
class SuperLink:
    """One that runs: its folder, where devices reach it, and where runs are ordered."""

    running: Running
    folder: Path
    address: str
    orders: str

    @property
    def certificate(self) -> Path:
        return self.folder / "public" / "certificate.pem"


@contextmanager
def superlink(folder: Path) -> Iterator[SuperLink]:
    """A SuperLink that answers on both of its addresses."""
    port, orders = free_ports(2)
    ports = ["--host", "0.0.0.0", "--port", str(port), "--orders-port", str(orders)]
    with started(folder, "superlink", str(folder / "link"), *ports) as running:
        until(lambda: all(answers(each) for each in (port, orders)) or running.process.poll() is not None)
        yield SuperLink(running, folder / "link", f"127.0.0.1:{port}", f"127.0.0.1:{orders}")


def enrolled(link: Path, *keys: Path) -> dict[str, int]:
    """Enrol these public keys at the SuperLink of that folder; gives all numbers, by fingerprint."""
    ran(["-m", "leakrange.services.federation", "enrol", *map(str, keys), "--link", str(link)], link.parent)
    numbers: dict[str, int] = json.loads((link / "keys" / "devices.json").read_text())
    return numbers


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
