"""Messages between server and devices, as Flower's records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

from leakrange.federation.updates import Arrays, Lost, Update
from leakrange.jobs.recipe import TrainingRecipe

__all__ = ["arrays_of", "read_answer", "read_task", "record_of", "task", "update_message"]


def record_of(arrays: Arrays) -> ArrayRecord:
    """Parameters as a record."""
    return ArrayRecord({name: Array(np.ascontiguousarray(value)) for name, value in arrays.items()})


def arrays_of(record: ArrayRecord) -> Arrays:
    """The parameters of a record."""
    return {name: value.numpy() for name, value in record.items()}


def task(
    recipe: TrainingRecipe, shared: Arrays, node: int, device: int, number: int, chosen: bool, ttl: float
) -> Message:
    """Ask a node to train as ``device`` in the round of that ``number``, and to send its update where it is
    ``chosen``."""
    fields = {"recipe": recipe.model_dump_json(), "device": device, "round": number, "chosen": chosen}
    content = RecordDict({"shared": record_of(shared), "task": ConfigRecord(fields)})
    return Message(content, node, "train", ttl=ttl, group_id=str(number + 1))


def read_task(message: Message) -> tuple[TrainingRecipe, Arrays, int, int, bool]:
    """The content of a `task`: recipe, shared parameters, device, the round's number, and whether it is
    chosen."""
    fields = message.content["task"]
    recipe = TrainingRecipe.model_validate_json(fields["recipe"])
    shared = arrays_of(message.content["shared"])
    return recipe, shared, int(fields["device"]), int(fields["round"]), bool(fields["chosen"])


def update_message(update: Update, message: Message) -> Message:
    """A device's answer to a `task`."""
    figures = {name: float(value) for name, value in update.figures.items()}
    content = {
        "shared": record_of(update.shared),
        "samples": MetricRecord({"samples": update.samples}),
        "figures": MetricRecord(figures),
    }
    return Message(RecordDict(content), reply_to=message)


def read_answer(message: Message | Exception, device: int) -> Update | Lost:
    """The update from ``device``, or the reason that its answer cannot be read. Never raises, whatever the
    message is."""
    try:
        if isinstance(message, Exception):
            raise message
        if message.has_error():
            reason = message.error.reason.partition("\n")[0]
            return Lost(device, f"it failed: {reason}")
        content: Mapping[str, Any] = message.content
        figures = {str(name): float(value) for name, value in content["figures"].items()}
        samples = int(content["samples"]["samples"])
        return Update(device, samples, arrays_of(content["shared"]), figures)
    except Exception as error:  # a device may send anything, and must not end the round
        return Lost(device, f"its answer cannot be read: {type(error).__name__}: {error}")
