from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.services.provider.device import ComputeDevice, NetPass, place

ONE = np.zeros((1, 2), np.float32)


def test_workers_are_dealt_out_over_the_gpus() -> None:
    assert [place(worker, 2) for worker in range(4)] == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert place(3, 0) == "cpu"


async def test_only_what_is_short_holds_up_the_event_loop() -> None:
    device = ComputeDevice()
    slow = threading.Event()

    def net(samples: NDArray[Any]) -> NDArray[np.float32]:
        if len(samples) == 7:
            slow.wait(10)
        else:
            time.sleep(0.002 * len(samples))
        return samples

    work = NetPass(device, net, ONE)
    assert work.short(1)
    assert not work.short(64)  # 128 ms
    running = asyncio.create_task(work.apart(np.zeros((7, 2), np.float32)))
    await asyncio.sleep(0)
    assert not work.short(1)  # the device is busy
    slow.set()
    await running
    assert work.short(1)
    device.close()


def test_one_pass_that_was_interrupted_hardly_counts() -> None:
    takes = iter([0.001, 0.001, 0.2, 0.001])

    def net(samples: NDArray[Any]) -> NDArray[np.float32]:
        time.sleep(next(takes))
        return samples

    device = ComputeDevice()
    work = NetPass(device, net, ONE)
    before = work.seconds_each
    work.at_once(ONE)
    interrupted = work.seconds_each
    assert before < interrupted < 1.06 * before
    work.at_once(ONE)
    assert work.seconds_each < 1.06 * interrupted
    device.close()
