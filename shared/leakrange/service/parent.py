"""Processes that end when their parent does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with"]

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, by any signal (Linux; elsewhere it runs on
    until its pipes break)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
