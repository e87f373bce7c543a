"""Real servers for tests: uvicorn in a thread of its own, on a free port."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


class _Server(uvicorn.Server):
    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2))
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
def serving(app: Any) -> Iterator[str]:
    """Serve the ASGI ``app`` with its lifespan until the block ends; gives its URL.

    The port is bound before the server starts, so nobody can take it in between.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(app)
    thread = threading.Thread(target=server.main, args=(listener,), daemon=True)
    thread.start()
    server.ready.wait(timeout=30)
    if not server.started:
        listener.close()
        raise RuntimeError("the server did not start") from server.failure
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()
