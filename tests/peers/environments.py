"""The environments that have servers and clients of others: a process of each server, for one model."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from leakrange.load.bench.contenders import peers_python
from leakrange.load.bench.peers.program import VARIABLE
from tests.patience import until
from tests.serving import free_port

__all__ = ["interpreter", "peers_serving"]

ROOT = Path(__file__).parents[2]
SERVERS = {
    "mlserver": ("mlserver", "v2/models/bench/ready"),
    "kserve": ("peers", "v2/models/bench/ready"),
    "mlflow": ("peers", "health"),
}
"""The environment of each server, and the path where it tells that it is ready."""


def interpreter(environment: str) -> str:
    """The Python of an environment; whoever asks is skipped where there is none."""
    try:
        return peers_python(environment)
    except SystemExit as missing:
        pytest.skip(str(missing))


@contextmanager
def peers_serving(program: Path) -> Iterator[dict[str, str]]:
    """MLServer, kserve and MLflow, each a process that serves that TorchScript program as ``bench``, until
    the block ends; gives their URLs. What they log is in the program's folder."""
    interpreters = {name: interpreter(environment) for name, (environment, _) in SERVERS.items()}
    python_path = f"{ROOT}{os.pathsep}{ROOT / 'shared'}"
    around = os.environ | {VARIABLE: str(program), "PYTHONPATH": python_path, "PYTHONWARNINGS": "ignore"}
    with ExitStack() as stack:
        urls, processes = {}, {}
        for name, python in interpreters.items():
            port = free_port()
            command = [python, "-m", f"leakrange.load.bench.peers.{name}_server", str(port), "1"]
            log = stack.enter_context((program.parent / f"{name}.log").open("wb"))
            processes[name] = stack.enter_context(subprocess.Popen(command, env=around, stderr=log))
            stack.callback(processes[name].kill)
            urls[name] = f"http://127.0.0.1:{port}"
        for name, (_, path) in SERVERS.items():
            until(partial(_ready, f"{urls[name]}/{path}", processes[name]), 120, f"{name} to be ready")
        yield urls


def _ready(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, f"the server of {url} ended"
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False
