"""How long tests wait for what is to come about: the longer, the more the machine does besides.

`tests/conftest.py` passes the hook on.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable
from typing import TypeVar

import httpx

__all__ = ["patience", "pytest_runtest_setup", "until"]

T = TypeVar("T")


def patience(seconds: float) -> float:
    """What may take so many seconds where every process has a core takes longer where several share one."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(condition: Callable[[], T | bool | None], seconds: float = 30.0, what: str = "") -> T:
    """The first true value of ``condition``; fails after ``seconds``, or more on a busy machine."""
    begun = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begun
        assert waited < patience(seconds), f"not within {waited:.0f} s: {what or condition}"
        time.sleep(0.02)
    return value  # type: ignore[return-value]


def pytest_runtest_setup() -> None:
    """Give requests by httpx that state no limit another one than its 5 seconds."""
    default = inspect.signature(httpx.Client).parameters["timeout"].default
    default.connect = default.read = default.write = default.pool = patience(20)
