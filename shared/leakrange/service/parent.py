"""Processes that end when their parent does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with"]

PR_SET_PDEATHSIG = 1
# Loaded here and not in `die_with`: a forked child should do as little as it can.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, by any signal (Linux; elsewhere it runs on
    until its pipes break)."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
