"""Where nets run: in one thread beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Device"]

Samples = NDArray[Any]
Values = NDArray[np.float32]


class Device:
    """One thread for all models, since one batch at a time is what a device does best.

    Running small nets in the event loop itself serves about as many requests a second; but then a large one
    would hold up health checks, refusals and the reading of the next requests.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="device")

    async def run(self, net: Callable[[Samples], Values], samples: Samples) -> Values:
        """``net(samples)``."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, net, samples)

    def close(self) -> None:
        """Let the batch in work finish, and end the thread."""
        self._thread.shutdown()
