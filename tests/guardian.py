"""What a test process has started ends with it, however it ends: by a crash of the interpreter, or SIGKILL.

Whatever is started inherits a mark in its environment, however many processes lie between. A guardian waits
for the test process to be gone, and kills all that bear its mark.
"""

from __future__ import annotations

import os
import sys
import time
import uuid

import psutil

__all__ = ["guarded"]

MARKS = "STARTED_BY_TESTS"
"""The variable with the marks of the test process, and of those that it was started by."""


def guarded() -> None:
    """Have all that this process starts from now on end with it."""
    mark = uuid.uuid4().hex
    command = [sys.executable, __file__, str(os.getpid()), mark]
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    # In a group of its own, which Ctrl-C does not reach; nobody here waits for it.
    os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setpgroup=0)
    os.environ[MARKS] = f"{os.environ.get(MARKS, '')} {mark}"


def _bearing(mark: str) -> list[psutil.Process]:
    bearing = []
    for process in psutil.process_iter():
        try:
            if mark in process.environ().get(MARKS, ""):
                bearing.append(process)
        except psutil.Error:  # another user's, or gone
            continue
    return bearing


def _guard(parent: int, mark: str) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    while left := _bearing(mark):  # what was starting something else may have done so meanwhile
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=1)


if __name__ == "__main__":
    _guard(int(sys.argv[1]), sys.argv[2])
