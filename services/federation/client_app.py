"""A device: Flower's client app. It trains when asked to, and keeps its own nets between rounds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import structlog
from flwr.app import ConfigRecord, Context, Error, Message
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode

from leakrange.federation.updates import Arrays, Update
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.services.federation.messages import arrays_of, read_task, record_of, update_message

if TYPE_CHECKING:
    from leakrange.defences.federated import FederatedDevices

__all__ = ["app", "train"]

log = structlog.get_logger("leakrange.federation")


def train(message: Message, context: Context) -> Message:
    """Run one round of a device; the answer holds the error where it fails."""
    try:
        return trained(message, context)
    except Exception as error:  # Flower would answer as well, with a traceback in the place of the reason
        log.warning("training failed", exc_info=error)
        reason = f"{type(error).__name__}: {error}"
        return Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)


def trained(message: Message, context: Context) -> Message:
    """Run one round of a device."""
    import torch

    torch.set_num_threads(1)
    recipe, shared, device, number, chosen = read_task(message)
    devices = _devices(recipe.model_dump_json())
    update, nets = devices.train(shared, {device: _kept(context, device)}, number)[device]
    context.state["kept"] = record_of(nets)
    context.state["of"] = ConfigRecord({"run": str(context.run_id), "device": device})
    return update_message(update if chosen else Update(device, 0, {}), message)


def _kept(context: Context, device: int) -> Arrays | None:
    """The nets that the node has kept as this device in this run."""
    if context.state.get("of") != ConfigRecord({"run": str(context.run_id), "device": device}):
        return None
    return arrays_of(context.state["kept"])


@lru_cache(maxsize=1)
def _devices(recipe: str) -> FederatedDevices:
    """The devices of a recipe. A process of the simulation trains many of them, and loads the samples
    once."""
    from leakrange.data import load
    from leakrange.defences.federated import FederatedDevices

    parsed = TrainingRecipe.model_validate_json(recipe)
    parsed.check_versions()
    return FederatedDevices(parsed, load(parsed.data))


app = ClientApp()
app.train()(train)
