"""Real servers for tests, on free ports: uvicorn in a thread of its own, or a proxy that can be killed."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from leakrange.service.serving import configuration
from leakrange.service.settings import ServiceSettings
from tests.patience import patience


class _Server(uvicorn.Server):
    def __init__(self, app: Any, settings: ServiceSettings | None) -> None:
        super().__init__(
            # A client of httpx leaves a connection after 5 s: a server that waits longer never closes the one
            # on which a request comes.
            uvicorn.Config(
                app, log_config=None, access_log=False, timeout_graceful_shutdown=2, timeout_keep_alive=60
            )
            if settings is None
            else configuration(app, settings, grace=2)
        )
        self.ready = threading.Event()
        self.failure: BaseException | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    def main(self, listener: socket.socket) -> None:
        try:
            asyncio.run(self.serve(sockets=[listener]))
        except BaseException as error:
            self.failure = error
        finally:
            self.ready.set()


@contextmanager
def serving(app: Any, settings: ServiceSettings | None = None) -> Iterator[str]:
    """Serve the ASGI ``app`` with its lifespan until the block ends; gives its URL. With ``settings`` it is
    served as parties are, within their limits.

    The port is bound before the server starts, so nobody can take it in between.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(app, settings)
    thread = threading.Thread(target=server.main, args=(listener,), daemon=True)
    thread.start()
    server.ready.wait(timeout=patience(30))
    if not server.started:
        listener.close()
        raise RuntimeError("the server did not start") from server.failure
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def proxy_process(
    redis_url: str, operator_key: str, *, port: int = 0, **settings: float
) -> Iterator[tuple[str, Killable]]:
    """A defence proxy in a process of its own, ready, on that port or a free one; gives its URL. It is killed
    at the block's end, if not before."""
    port = port or free_port()
    told = {"REDIS_URL": redis_url, "OPERATOR_KEY": operator_key, "PROXY_PORT": port, **settings}
    environment = os.environ | {f"LEAKRANGE_{name.upper()}": str(value) for name, value in told.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "leakrange.services.proxy"],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
    )
    made = Killable(process)
    try:
        deadline = time.monotonic() + patience(60)
        url = f"http://127.0.0.1:{port}"
        while True:
            assert process.poll() is None, made.kill()
            assert time.monotonic() < deadline, made.kill()
            try:
                if httpx.get(f"{url}/readyz").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.05)  # not listening yet
        yield url, made
    finally:
        made.kill()


class Killable:
    """A process that a test ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._said: bytes | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    def terminate(self, within: float = 20.0) -> int:
        """SIGTERM; the exit status of the process, once it has ended."""
        self._process.terminate()
        return self._process.wait(within)

    def kill(self) -> bytes:
        """SIGKILL; what the process wrote to its standard error while it lived."""
        if self._said is None:
            self._process.kill()
            _, self._said = self._process.communicate()
        return self._said

    def stop(self) -> int:
        """SIGTERM; waits for the process to end, and gives its exit status."""
        self._process.terminate()
        return self._process.wait(timeout=30)
