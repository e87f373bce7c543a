"""Processes beside the controller: begun when they are needed, and begun again if they have died."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import structlog

__all__ = ["Beside"]

T = TypeVar("T")
log = structlog.get_logger("leakrange.services.controller.beside")
ENDING = 5.0
"""Seconds within which a process ends that has closed a connection without an answer."""


class Beside:
    """A process that runs ``module`` and serves on a socket of the controller's at ``place``.

    Its arguments are the descriptor of the socket and the identity of the controller's process, with which it
    is to end; ``settings`` come on its standard input. The controller holds the socket, so that whoever asks
    while the process is begun waits in line.
    """

    def __init__(self, module: str, settings: bytes = b"") -> None:
        self._module, self._settings = module, settings
        self._folder = TemporaryDirectory(prefix="leakrange-beside-")  # of this user alone
        self.place = str(Path(self._folder.name) / "socket")
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.place)
        self._listening.listen(128)
        self._process: asyncio.subprocess.Process | None = None
        self._beginning = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The identity of the process, if it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def begun(self) -> None:
        """Begin the process if it does not run."""
        async with self._beginning:
            if self.pid is not None:
                return
            if self._process is not None:
                log.warning("a process has ended", module=self._module, status=self._process.returncode)
            number = self._listening.fileno()
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", self._module, str(number), str(os.getpid())),
                stdin=asyncio.subprocess.PIPE,
                pass_fds=[number],
                start_new_session=True,  # what is typed at a terminal is for the controller
            )
            assert self._process.stdin is not None
            self._process.stdin.write(self._settings)
            self._process.stdin.close()

    async def answered(self, asking: Coroutine[Any, Any, T]) -> T:
        """The result of ``asking``, which asks the process; the process is begun if it does not run. Raises
        `ConnectionError` if it ends meanwhile: callers that it has not heard would wait for ever."""
        await self.begun()
        assert self._process is not None
        work, ended = asyncio.ensure_future(asking), asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ConnectionError(f"{self._module} has ended")
            if isinstance(work.exception(), ConnectionError):
                # It closes its connections a moment before it has ended, and whoever asks next needs another.
                await asyncio.wait({ended}, timeout=ENDING)
            return work.result()
        finally:
            ended.cancel()
            work.cancel()
            await asyncio.wait({work, ended})

    async def end(self) -> None:
        """End the process; it may be begun again."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def close(self) -> None:
        """End it for good."""
        await self.end()
        self._listening.close()
        self._folder.cleanup()
