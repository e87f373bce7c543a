"""Waits for asynchronous clients, in any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

__all__ = ["wait"]

Result = TypeVar("Result")


def wait(asked: Coroutine[Any, Any, Result]) -> Result:
    """Run ``asked`` and return its result; raises its errors."""
    answer = asyncio.run_coroutine_threadsafe(asked, _loop())
    try:
        return answer.result()
    except BaseException:
        answer.cancel()
        raise


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return an event loop in a thread of its own: the thread of a notebook runs a loop already, and cannot
    wait."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="leakrange-client", daemon=True).start()
    return loop
