"""A federation between processes: Flower's SuperLink, a SuperNode for each device, and a run on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.wire.errors import LeakrangeError
from services.federation.server import Patience

__all__ = ["environment", "program", "submit"]

APP = """\
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
models = ""
gather = 0.0
answer = 0.0
"""
"""What Flower sends to all parties: where the apps are, and the names of what a run is given."""

CONNECTION = """\
[superlink]
default = "ours"

[superlink.ours]
address = {address}
insecure = true
"""


def program(name: str) -> str:
    """One of Flower's programs, as it is installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


def environment(home: Path | None = None) -> dict[str, str]:
    """What Flower's programs are started with: they start others by name, one process for each message."""
    found = dict(os.environ)
    found["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), found.get("PATH", "")])
    found.setdefault("OMP_NUM_THREADS", "1")
    found.setdefault("FLWR_SUPEREXEC_TASK_POLL_INTERVAL", "0.2")
    if home is not None:
        found["FLWR_HOME"] = str(home)
    return found


def submit(recipe: TrainingRecipe, models: str, superlink: str, patience: Patience) -> None:
    """Have the SuperLink at the address ``superlink`` train the extractor of ``recipe``; it stores the
    artifact folder under its own folder ``models``. Prints what the server app says. Raises `LeakrangeError`
    where the run fails."""
    with tempfile.TemporaryDirectory() as made:
        home, app, config = Path(made, "home"), Path(made, "app"), Path(made, "run.toml")
        home.mkdir()
        app.mkdir()
        (home / "config.toml").write_text(CONNECTION.format(address=json.dumps(superlink)))
        (app / "pyproject.toml").write_text(APP)
        given = {"recipe": recipe.model_dump_json(), "models": models}
        lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        lines += [f"gather = {float(patience.gather)}", f"answer = {float(patience.answer)}"]
        config.write_text("\n".join(lines) + "\n")
        told = environment(home)
        started = json.loads(_flwr(["run", str(app), "ours", "--run-config", str(config)], told))
        if not started.get("success"):
            raise LeakrangeError(f"Flower did not start the run: {started.get('error-message', started)}")
        run = str(started["run-id"])
        subprocess.run([program("flwr"), "log", run, "ours", "--stream"], env=told, check=False)
        [ended] = json.loads(_flwr(["list", "ours", "--run-id", run], told))["runs"]
        if ended["status"] != "finished:completed":
            raise LeakrangeError(
                f"the run ended as {ended['status']}", hint="what the server app said last tells why"
            )


def _flwr(arguments: list[str], told: dict[str, str]) -> str:
    done = subprocess.run(
        [program("flwr"), *arguments, "--format", "json"], env=told, capture_output=True, text=True
    )
    if not done.stdout.strip():
        raise LeakrangeError(f"flwr {arguments[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
