"""A program for the federation's environment: a simulation of which each device misbehaves in its own way.
Prints the record as JSON. Takes a file with a recipe.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from leakrange.federation.updates import Update
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.services.federation import client_app, simulation
from leakrange.services.federation.messages import read_task, update_message
from leakrange.services.federation.server import Patience


def train(message: Message, context: Context) -> Message:
    _, shared, device, number, _ = read_task(message)
    if device == 0:
        del message.content["task"]
        return client_app.train(message, context)
    if device == 1:
        return update_message(
            Update(device, 9, {n: v * np.float32("nan") for n, v in shared.items()}), message
        )
    if device == 2:
        return update_message(Update(device, 9, {n: v + np.float32(1e4) for n, v in shared.items()}), message)
    if device == 3:
        return Message(RecordDict({"figures": MetricRecord({})}), reply_to=message)
    if device == 4 and number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return client_app.train(message, context)


class Damaging:
    """A grid over which no answer of device 6 arrives whole."""

    def __init__(self, grid: Any) -> None:
        self.grid = grid
        self.damaged: set[str] = set()

    def get_nodes(self) -> list[Any]:
        return list(self.grid.get_nodes())

    def push_messages(self, messages: list[Message]) -> list[str]:
        sent = list(self.grid.push_messages(messages))
        if messages[0].content.get("task", {}).get("device") == 6:
            self.damaged |= set(sent)
        return sent

    def pull_messages(self, sent: list[str]) -> list[Message]:
        if self.damaged & set(sent):
            raise ValueError("damaged on the way")
        return list(self.grid.pull_messages(sent))


def main() -> None:
    app = ClientApp()
    app.train()(train)
    simulation.client_app = app
    federate = simulation.federate
    simulation.federate = lambda grid, *given: federate(Damaging(grid), *given)
    recipe = TrainingRecipe.model_validate_json(Path(sys.argv[1]).read_bytes())
    trained = simulation.simulate(recipe, 7, Patience(gather=60.0, answer=60.0), processes=1)
    sys.stdout.write(json.dumps({"history": trained.history, **trained.record}) + "\n")


if __name__ == "__main__":
    main()
