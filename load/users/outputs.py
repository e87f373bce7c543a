"""Downloads a model as a device does, runs it on some of its users' samples, and writes the outputs as npy:
``python -m leakrange.load.users.outputs FILE``, with a visit as JSON on standard input."""

from __future__ import annotations

import asyncio
import sys

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.data import load
from leakrange.defences.chain import DefenceChain
from leakrange.devices.device import Device
from leakrange.devices.enrolment import Enrolments
from leakrange.services.controller.load.schemas import OfferedVisit
from leakrange.wire.transport import AiohttpTransport

__all__ = ["outputs"]

SAMPLES = 128


async def outputs(visit: OfferedVisit) -> NDArray[np.float32]:
    """The uploads of a device for the first test samples (B, N). Raises the errors of enrolling."""
    data = load(visit.data)
    samples = data.values[data.where("test")[:SAMPLES]]
    transport, device = AiohttpTransport(timeout=60.0), Device(SecretStr("honest"), batch=64)
    try:
        enrolment = await Enrolments(transport, most=1, attempts=5).current(visit.url, visit.key, visit.model)
        return await device.released(enrolment, visit.release, samples, DefenceChain.parse([]), "load")
    finally:
        device.close()
        await transport.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    order = OfferedVisit.model_validate_json(sys.stdin.buffer.read())
    np.save(sys.argv[1], asyncio.run(outputs(order)))
