"""The server app of a deployment: Flower's SuperLink starts it with the command's settings."""

from __future__ import annotations

from pathlib import Path

import structlog
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.service.logs import configure_logs
from leakrange.services.federation.server import Patience, federate

__all__ = ["app"]

log = structlog.get_logger("leakrange.federation")


def main(grid: Grid, context: Context) -> None:
    """Run all rounds and store the artifact folder."""
    from leakrange.defences.artifact import save

    config = context.run_config
    configure_logs("federation")
    recipe = TrainingRecipe.model_validate_json(str(config["recipe"]))
    patience = Patience(float(config["gather"]), float(config["answer"]))
    folder = save(Path(str(config["outputs"])), federate(grid, recipe, patience))
    log.info("stored", folder=str(folder))


app = ServerApp()
app.main()(main)
