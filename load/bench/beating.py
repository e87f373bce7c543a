"""A controller that measures how long its event loop gets no turn.

    python -m leakrange.load.bench.beating DESCRIPTOR PARENT

It is started as ``python -m leakrange.services.controller`` is. For each byte that comes over the socket of
that descriptor it sends a line: the longest stretch since the last byte, in seconds, of processor time of its
process between two turns of the loop. So it counts work in the loop, and work in another thread that holds
the interpreter; it does not count time in which other processes had the processor, nor the work of child
processes. It ends with the process PARENT.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time

from fastapi import FastAPI

from leakrange.service.parent import die_with
from leakrange.services.controller.main import controller
from leakrange.services.controller.server import ControllerServer
from leakrange.services.controller.settings import ControllerSettings

EVERY = 0.005
"""Seconds between two beats."""


class BeatingServer(ControllerServer):
    """The controller's server, whose loop beats once it serves."""

    def __init__(self, app: FastAPI, settings: ControllerSettings, questions: socket.socket) -> None:
        super().__init__(app, settings)
        self._questions = questions

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Overrides uvicorn's method."""
        await super().startup(sockets)
        self._beating = asyncio.create_task(self._beat())
        asyncio.get_running_loop().add_reader(self._questions, self._answer)

    async def _beat(self) -> None:
        self._longest, before = 0.0, time.process_time()
        while True:
            await asyncio.sleep(EVERY)
            now = time.process_time()
            self._longest, before = max(self._longest, now - before), now

    def _answer(self) -> None:
        if not self._questions.recv(1):
            asyncio.get_running_loop().remove_reader(self._questions)
            return
        self._questions.sendall(f"{self._longest:.4f}\n".encode())
        self._longest = 0.0


def main() -> None:
    """Serve until stopped."""
    die_with(int(sys.argv[2]))
    settings = ControllerSettings()
    BeatingServer(controller(settings), settings, socket.socket(fileno=int(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
