"""A federation between processes: how Flower's programs are started, and how a run is ordered of a
SuperLink."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.wire.errors import LeakrangeError
from services.federation.keys import LinkFolder
from services.federation.server import Patience

__all__ = ["environment", "program", "submit"]

APP = b"""\
[project]
name = "leakrange-federation"
version = "0.1.0"
description = "The apps are in the package services.federation, which every party has installed."
license = "Apache-2.0"

[tool.flwr.app]
publisher = "leakrange"

[tool.flwr.app.components]
serverapp = "services.federation.server_app:app"
clientapp = "services.federation.client_app:app"

[tool.flwr.app.config]
recipe = ""
outputs = ""
gather = 0.0
answer = 0.0
"""
"""What Flower sends to all parties: where the apps are, and the names of what a run is given."""


def program(name: str) -> str:
    """One of Flower's programs, as it is installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


def environment() -> dict[str, str]:
    """What Flower's programs are started with: they start others by name, one process for each message."""
    variables = dict(os.environ)
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), variables.get("PATH", "")])
    variables.setdefault("OMP_NUM_THREADS", "1")
    variables.setdefault("FLWR_SUPEREXEC_TASK_POLL_INTERVAL", "0.2")
    return variables


def submit(recipe: TrainingRecipe, folder: LinkFolder, patience: Patience) -> None:
    """Have the SuperLink of this ``folder`` train the extractor of ``recipe``, which it stores among its
    outputs. Prints what the server app says. Raises `LeakrangeError` where the run fails, `InvalidInput`
    where no SuperLink has the folder."""
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
    who = [RuntimeVersionHttpInterceptor(component_name="flwr CLI"), _Bearer(key)]
    try:
        with ControlHttpClient.from_server_address(address, False, str(folder.certificate), who) as client:
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
    """Shows the key with every request."""

    def __init__(self, key: str) -> None:
        self.key = key

    def intercept(self, context: Any, call_next: Any) -> Any:
        """See Flower's `ProtobufClientInterceptor`."""
        context.request.headers["Authorization"] = f"Bearer {self.key}"
        return call_next(context)
