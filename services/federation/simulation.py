"""A federation in Flower's simulation: every device is a virtual node on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.services.federation.client_app import app as client_app
from leakrange.services.federation.server import Patience, federate

if TYPE_CHECKING:
    from leakrange.defences.artifact import TrainedDefence

__all__ = ["simulate"]


def simulate(
    recipe: TrainingRecipe, devices: int, patience: Patience, processes: int | None = None
) -> TrainedDefence:
    """Train the extractor of ``recipe`` with so many virtual ``devices``, in so many ``processes`` at a time
    (None: one for each core). Raises as `leakrange.services.federation.server.federate` does."""
    done: list[TrainedDefence] = []

    def main(grid: Grid, _context: Context) -> None:
        done.append(federate(grid, recipe, patience))

    server_app = ServerApp()
    server_app.main()(main)
    # Devices share processes. One that dies with a device is started anew, and later devices wait for it; by
    # default Ray does neither, and each later device on that process would be lost.
    resources = {"num_cpus": 1, "num_gpus": 0.0, "max_restarts": -1, "max_task_retries": 1}
    run_simulation(
        server_app,
        client_app,
        devices,
        backend_config={
            "client_resources": resources,
            "init_args": {"num_cpus": processes or os.cpu_count() or 1, "log_to_driver": False},
        },
    )
    [trained] = done
    return trained
