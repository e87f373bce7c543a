"""A controller that counts how long its event loop gets no turn.

    python -m load.bench.beating DESCRIPTOR PARENT

It is started as ``python -m services.controller`` is. For each byte that comes over the socket of that
descriptor it sends a line: the longest stretch since the byte before, in seconds, of processor time that
passed in its process between two turns of the loop. So work counts that is done in the loop, and work in
another thread that holds the interpreter; time in which other processes had the processor does not, nor what
child processes compute. It ends with the process PARENT.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time

from fastapi import FastAPI

from leakrange.service.parent import die_with
from services.controller.main import controller
from services.controller.server import ControllerServer
from services.controller.settings import ControllerSettings

EVERY = 0.005
"""Seconds between two beats."""


class BeatingServer(ControllerServer):
    """The controller's server, whose loop beats once it serves."""

    def __init__(self, app: FastAPI, settings: ControllerSettings, asked: socket.socket) -> None:
        super().__init__(app, settings)
        self._asked = asked

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Overrides uvicorn's method."""
        await super().startup(sockets)
        self._beating = asyncio.create_task(self._beat())
        asyncio.get_running_loop().add_reader(self._asked, self._tell)

    async def _beat(self) -> None:
        self._longest, before = 0.0, time.process_time()
        while True:
            await asyncio.sleep(EVERY)
            now = time.process_time()
            self._longest, before = max(self._longest, now - before), now

    def _tell(self) -> None:
        if not self._asked.recv(1):
            asyncio.get_running_loop().remove_reader(self._asked)
            return
        self._asked.sendall(f"{self._longest:.4f}\n".encode())
        self._longest = 0.0


def main() -> None:
    """Serve until told to stop."""
    die_with(int(sys.argv[2]))
    settings = ControllerSettings()
    BeatingServer(controller(settings), settings, socket.socket(fileno=int(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
