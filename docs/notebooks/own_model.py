"""A model of one's own, behind the native API: is a handwritten digit odd?

It answers with probabilities (``softmax``), and with its hidden layer (``features``), which apps use to find
similar pictures.
"""

from __future__ import annotations

import io
import threading
import time
import warnings

import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from sklearn.neural_network import MLPClassifier

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.schemas import ModelCard

digits = load(DataSpec(name="digits", size=16))
FOR_TRAINING, FOR_ATTACKER, FOR_USERS = slice(0, 800), slice(800, 1100), slice(1100, 1400)


def serve() -> str:
    """Train the model, and serve it in a thread of this process; gives its URL."""
    pixels = digits.values.reshape(len(digits.values), -1) / 255
    net = MLPClassifier((32,), max_iter=100, random_state=0)
    with warnings.catch_warnings(action="ignore"):  # it has not converged, and is good enough
        net.fit(pixels[FOR_TRAINING], digits.labels["parity"][FOR_TRAINING])
    card = ModelCard(
        name="parity", version="1", sha256="", task="parity", classes=["even", "odd"], input=digits.spec,
        releases=["softmax", "features"], default_release="softmax", features=32, max_batch=256, parameters=0,
    )  # fmt: skip
    app = FastAPI()

    @app.get("/v1/models/{model}")
    async def describe(model: str) -> ModelCard:
        return card.model_copy(update={"name": model})

    @app.post("/v1/models/{model}/{release}")
    async def answer(release: str, request: Request) -> Response:
        samples = np.load(io.BytesIO(await request.body()), allow_pickle=False)
        rows = samples.reshape(len(samples), -1) / 255
        if release == "features":
            found = np.maximum(0, rows @ net.coefs_[0] + net.intercepts_[0])
        else:
            found = net.predict_proba(rows)
        body = io.BytesIO()
        np.save(body, found.astype(np.float32))
        return Response(body.getvalue(), media_type="application/x-npy")

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
