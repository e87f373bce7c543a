"""A federation between processes: starting Flower's programs, and ordering a run of a SuperLink."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.services.federation.keys import LinkFolder
from leakrange.services.federation.server import Patience
from leakrange.wire.errors import LeakrangeError

__all__ = ["environment", "program", "submit"]

APP = b"""\
[project]
name = "leakrange-federation"
version = "0.1.0"
description = "The apps are in the package leakrange.services.federation, which every party has installed."
license = "Apache-2.0"

[tool.flwr.app]
publisher = "leakrange"

[tool.flwr.app.components]
serverapp = "leakrange.services.federation.server_app:app"
clientapp = "leakrange.services.federation.client_app:app"

[tool.flwr.app.config]
recipe = ""
outputs = ""
gather = 0.0
answer = 0.0
"""
"""Package that Flower sends to all parties: the places of the apps, and the names of a run's settings."""


def program(name: str) -> str:
    """Path of one of Flower's programs, installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


def environment() -> dict[str, str]:
    """The environment of Flower's programs: they start others by name, one process for each message."""
    variables = dict(os.environ)
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), variables.get("PATH", "")])
    variables.setdefault("OMP_NUM_THREADS", "1")
    variables.setdefault("FLWR_SUPEREXEC_TASK_POLL_INTERVAL", "0.2")
    return variables


def submit(recipe: TrainingRecipe, folder: LinkFolder, patience: Patience) -> None:
    """Have the SuperLink of this ``folder`` train the extractor of ``recipe`` and store it among its outputs.
    Prints the log of the server app. Raises `LeakrangeError` where the run fails, `InvalidInput` where no
    SuperLink has the folder."""
    import httpx
    from flwr.cli.build import build_fab_from_files
    from flwr.common.serde import user_config_to_proto
    from flwr.proto.control_pb2 import ListRunsRequest, StartRunRequest, StreamLogsRequest
    from flwr.proto.fab_pb2 import Fab
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

    address, key = folder.where_to_order()
    config = {
        "recipe": recipe.model_dump_json(),
        "outputs": str(folder.outputs),
        "gather": float(patience.gather),
        "answer": float(patience.answer),
    }
    fab, _ = build_fab_from_files({"pyproject.toml": APP})
    order = StartRunRequest(fab=Fab(content=fab), override_config=user_config_to_proto(config))
    interceptors = [RuntimeVersionHttpInterceptor(component_name="flwr CLI"), _Bearer(key)]
    try:
        with ControlHttpClient.from_server_address(
            address, False, str(folder.certificate), interceptors
        ) as client:
            run = client.StartRun(order).run_id
            for piece in client.StreamLogs(StreamLogsRequest(run_id=run)):
                sys.stdout.write(piece.log_output)
            ended = client.ListRuns(ListRunsRequest(run_id=run)).run_dict[run].status
    except httpx.HTTPError as error:
        raise LeakrangeError(
            f"the SuperLink at {address} did not run it: {error}", hint="its log tells more"
        ) from error
    if (ended.status, ended.sub_status) != ("finished", "completed"):
        raise LeakrangeError(
            f"the run ended as {ended.status}:{ended.sub_status}",
            hint="what the server app said last tells why",
        )


class _Bearer:
    """Sends the key with every request."""

    def __init__(self, key: str) -> None:
        self.key = key

    def intercept(self, context: Any, call_next: Any) -> Any:
        """See Flower's `ProtobufClientInterceptor`."""
        context.request.headers["Authorization"] = f"Bearer {self.key}"
        return call_next(context)
