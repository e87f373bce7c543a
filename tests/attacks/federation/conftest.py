"""What the server sees of devices with a few patients each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from leakrange.data import load
from leakrange.defences.federated import FederatedDevices
from leakrange.defences.representation.tappfl import Tappfl, TappflParameters
from leakrange.federation.updates import Arrays
from leakrange.jobs.recipe import DataSpec
from leakrange.nets.classifier import to_input


@dataclass(frozen=True)
class Seen:
    """The federation, the parameters that were sent, and samples that no device has."""

    devices: FederatedDevices
    sent: Arrays
    others: NDArray[np.float32]

    def received(self, device: int) -> Arrays:
        return self.devices.train(self.sent, {device: None}, 0)[device][0].shared

    def samples(self, device: int) -> NDArray[np.float32]:
        return self.devices.part(self.devices.parts[device]).samples.numpy()


@pytest.fixture(scope="session")
def seen() -> Callable[..., Seen]:
    """The first round of devices with about so many samples, which go so often through them."""

    def look(samples: int, epochs: int = 1) -> Seen:
        data = DataSpec(name="diabetes")
        loaded = load(data)
        devices = len(loaded.where("train")) // samples
        federation = {"devices": devices, "local_epochs": epochs, "pretraining": 0}
        given = {"private": "sex", "batch": 8, "federation": federation}
        own = FederatedDevices(Tappfl(TappflParameters.model_validate(given)).recipe(data, 0), loaded)
        others = torch.from_numpy(loaded.values[loaded.where("test")])
        return Seen(own, own.initial(), to_input(others, loaded.spec).numpy())

    return look
