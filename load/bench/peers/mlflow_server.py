"""MLflow's scoring server, one request at a time:
``python -m leakrange.load.bench.peers.mlflow_server PORT BATCH``."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import mlflow.pyfunc
import uvicorn
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel, scoring_server

from leakrange.load.bench.peers.program import from_environment


class Bench(PythonModel):
    """The one model."""

    def load_context(self, context):  # type: ignore[no-untyped-def]  # noqa: ARG002 - MLflow names it
        """Read the program."""
        self._program = from_environment()

    def predict(self, context, model_input, params=None) -> Any:  # type: ignore[no-untyped-def]  # noqa: ARG002
        """The values of all samples. MLflow would take types for a schema of its own."""
        return self._program(model_input)


if __name__ != "__main__":
    set_model(Bench())  # MLflow saves a model as this file, and imports it
else:
    with tempfile.TemporaryDirectory() as folder:
        mlflow.pyfunc.save_model(f"{folder}/bench", python_model=__file__, pip_requirements=[])
        app = scoring_server.init(mlflow.pyfunc.load_model(f"{folder}/bench"))
        uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
