"""The place where nets run: in a thread of the device, or in the event loop where a pass is short."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ComputeDevice", "NetPass", "place"]

Samples = NDArray[Any]
Values = NDArray[np.float32]

SHORT = 0.01
"""The longest time, in seconds, that a pass may hold up the event loop: health checks, refusals, the reading
of other requests.

Handing a batch to a thread and back costs two switches of the interpreter, which is as long as a small net
takes for an image; and while both threads want the interpreter, each waits for the other.
"""
SLOWER = 1.05
"""The most that a longer pass raises the estimate: an interrupted pass must not count with its whole time."""


def place(worker: int, gpus: int) -> str:
    """The name of the device of the ``worker``-th process: workers are distributed over the GPUs, if there
    are any."""
    return f"cuda:{worker % gpus}" if gpus else "cpu"


class ComputeDevice:
    """One thread for all models, since a device is fastest with one batch at a time.

    ``name`` is torch's name of it.
    """

    def __init__(self, name: str = "cpu") -> None:
        self.name = name
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="device")
        self._running = 0

    @property
    def idle(self) -> bool:
        """Whether nothing runs in the thread."""
        return self._running == 0

    async def run(self, net: Callable[[Samples], Values], samples: Samples) -> Values:
        """Run ``net(samples)`` in the thread."""
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, net, samples)
        finally:
            self._running -= 1

    def close(self) -> None:
        """End the thread, after the work that it already has."""
        self._thread.shutdown()


class NetPass:
    """Passes of samples (B, *shape) through one net of a device, which gives (B, N)."""

    def __init__(self, device: ComputeDevice, net: Callable[[Samples], Values], example: Samples) -> None:
        self._device, self._net = device, net
        net(example)  # the first pass is slow: no request should have to wait for it
        started = time.perf_counter()
        net(example)
        self._seconds_each = (time.perf_counter() - started) / len(example)

    @property
    def seconds_each(self) -> float:
        """The approximate number of seconds a sample takes."""
        return self._seconds_each

    def short(self, samples: int) -> bool:
        """Whether so many samples may go through the net in the event loop itself."""
        return self._device.idle and samples * self._seconds_each <= SHORT

    def at_once(self, samples: Samples) -> Values:
        """The values, computed here and now."""
        started = time.perf_counter()
        values = self._net(samples)
        self._seconds_each = min((time.perf_counter() - started) / len(samples), self._seconds_each * SLOWER)
        return values

    async def apart(self, samples: Samples) -> Values:
        """The values, computed in the device's thread."""
        return await self._device.run(self.at_once, samples)
