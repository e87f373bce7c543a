"""Decodes uploads in a separate process from the one that answers users."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

import numpy as np
import structlog
import torch
from numpy.typing import NDArray

from leakrange.providers.decoding import Decoded, decode
from leakrange.wire.errors import Unavailable

LOWEST_PRIORITY = 19

log = structlog.get_logger("leakrange.services.provider.decoding")


class DecodingProcess:
    """A process of the lowest priority that decodes one upload after the other.

    It is started when there is something to decode, and again where it has died. It is a new interpreter,
    since torch hangs in a fork of a process that has used it. It ends when the pipe to its parent breaks, so
    that it outlives no parent, not even one that was killed.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="decoding")
        self._child: tuple[SpawnProcess, Connection] | None = None

    async def infer(self, folder: Path, values: NDArray[np.float32], kind: str) -> Decoded:
        """Read ``values`` (B, ...) with the decoder of the artifact in ``folder``, see `Decoder.infer`; for
        samples, it reads the outputs that its classifier has for them.

        Where the process dies, the next one tries once more. Raises `InvalidArtifact`, what `Decoder.infer`
        raises, and `Unavailable` where both processes died.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._infer, folder, values, kind)

    def _infer(self, folder: Path, values: NDArray[np.float32], kind: str) -> Decoded:
        for _ in range(2):
            if self._child is None:
                self._child = _start()
            process, connection = self._child
            try:
                connection.send((folder, values, kind))
                answer = connection.recv()
            except (EOFError, OSError):
                self._child = None
                connection.close()
                process.kill()
                process.join()
                log.warning("the decoding process died", exit_status=process.exitcode)
                continue
            if isinstance(answer, Exception):
                raise answer
            return cast(Decoded, answer)
        raise Unavailable("the decoding process died twice", hint="is there enough memory?")


def _start() -> tuple[SpawnProcess, Connection]:
    """Start a child that decodes, and give our end of the pipe to it; only the child has the other end."""
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=_decode, args=(child_end,), name="decoding", daemon=True)
    process.start()
    child_end.close()
    return process, parent_end


def _decode(connection: Connection) -> None:
    """Run the child: decode everything that comes until the pipe breaks.

    Its modules are already imported, with the priority of the parent: on a busy machine, imports with the
    lowest priority would take minutes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    torch.set_num_threads(1)
    os.setpriority(os.PRIO_PROCESS, 0, LOWEST_PRIORITY)
    while True:
        try:
            connection.send(_answer(*connection.recv()))
        except (EOFError, OSError):
            return


def _answer(folder: Path, values: NDArray[np.float32], kind: str) -> Decoded | Exception:
    try:
        return decode(folder, values, kind)
    except Exception as error:  # the parent raises it
        return error
