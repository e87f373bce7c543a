"""Several real processes of one provider, on one PostgreSQL."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.patience import until

__all__ = ["Launcher", "Replica", "launcher"]

PROGRAM = """
import os, sys
from leakrange.service.serving import serve
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
for host in sys.stdin:
    if os.fork() == 0:
        sys.stdin.close()
        settings = ProviderSettings(host=host.strip())
        serve(lambda: create_provider(settings), settings)
        os._exit(0)
"""
"""Each line is the address of one more replica; what they import is imported once."""


@dataclass
class Replica:
    """One process, at ``host``."""

    host: str
    url: str
    pid: int

    def send(self, sign: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, sign)

    def ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        """Its answer, over a new connection."""
        return httpx.request(method, self.url + path, **how)


class Launcher:
    """Starts replicas at several addresses of this machine and one port, which nobody else has."""

    def __init__(self, program: subprocess.Popen[str], port: int) -> None:
        self._program, self.port = program, port

    def start(self, *hosts: str) -> list[Replica]:
        """Replicas that are ready, one at each of the addresses."""
        assert self._program.stdin is not None
        before = self.children()
        for host in hosts:
            self._program.stdin.write(f"{host}\n")
        self._program.stdin.flush()
        replicas = []
        for host in hosts:
            url = f"http://{host}:{self.port}"
            until(lambda url=url: _ready(url), 60, f"{url} does not start")  # type: ignore[misc]
            replicas.append(Replica(host, url, self._at(host, before)))
        return replicas

    def children(self) -> set[int]:
        """The replicas' processes."""
        path = Path(f"/proc/{self._program.pid}/task/{self._program.pid}/children")
        return {int(pid) for pid in path.read_text().split()}

    def over(self, pid: int) -> bool:
        """Whether that one has ended."""
        return pid not in self.children() or not Path(f"/proc/{pid}/cmdline").read_bytes()

    def _at(self, host: str, before: set[int]) -> int:
        import psutil

        for pid in self.children() - before:
            if any(each.laddr and each.laddr.ip == host for each in psutil.Process(pid).net_connections()):
                return pid
        raise AssertionError(f"no process listens at {host}")


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").is_success
    except httpx.TransportError:
        return False


@contextmanager
def launcher(models_dir: Path, **told: str) -> Iterator[Launcher]:
    """One launcher; whatever it has started ends with it. ``told``: settings by name."""
    with closing(socket.socket()) as probe:
        probe.bind(("0.0.0.0", 0))
        port = probe.getsockname()[1]
    settings = {"MODELS_DIR": str(models_dir), "PORT": str(port), "LOG_LEVEL": "error", **told}
    environment = os.environ | {f"LEAKRANGE_{name}": value for name, value in settings.items()}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, text=True
    )
    started = Launcher(program, port)
    try:
        yield started
    finally:
        for pid in started.children():
            os.kill(pid, signal.SIGKILL)
        with program:
            program.kill()
