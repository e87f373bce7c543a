"""A device: Flower's client app. It trains when it is asked to, and keeps its own nets between rounds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import structlog
from flwr.app import ConfigRecord, Context, Error, Message
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode

from leakrange.federation.updates import Arrays, Update
from leakrange.jobs.recipe import TrainingRecipe
from services.federation.messages import arrays_of, asked, record_of, update_message

if TYPE_CHECKING:
    from leakrange.defences.federated import Devices

__all__ = ["app", "train"]

log = structlog.get_logger("leakrange.federation")


def train(message: Message, context: Context) -> Message:
    """One round of a device; where it fails, the answer says how."""
    try:
        return trained(message, context)
    except Exception as error:  # Flower would answer as well, with a traceback in the place of the reason
        log.warning("training failed", exc_info=error)
        reason = f"{type(error).__name__}: {error}"
        return Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)


def trained(message: Message, context: Context) -> Message:
    """One round of a device."""
    import torch

    torch.set_num_threads(1)
    recipe, shared, device, at, chosen = asked(message)
    update, kept = _devices(recipe.model_dump_json()).train(shared, {device: _kept(context, device)}, at)[
        device
    ]
    context.state["kept"] = record_of(kept)
    context.state["of"] = ConfigRecord({"run": str(context.run_id), "device": device})
    return update_message(update if chosen else Update(device, 0, {}), message)


def _kept(context: Context, device: int) -> Arrays | None:
    """What the node has kept as this device in this run."""
    if context.state.get("of") != ConfigRecord({"run": str(context.run_id), "device": device}):
        return None
    return arrays_of(context.state["kept"])


@lru_cache(maxsize=1)
def _devices(recipe: str) -> Devices:
    """A process of the simulation trains for many devices: it loads the samples once."""
    from leakrange.data import load
    from leakrange.defences.federated import Devices

    wanted = TrainingRecipe.model_validate_json(recipe)
    wanted.check_versions()
    return Devices(wanted, load(wanted.data))


app = ClientApp()
app.train()(train)
