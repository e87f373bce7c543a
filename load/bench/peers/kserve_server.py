"""kserve's Python server, in JSON and with binary tensors, one request at a time:
``python -m leakrange.load.bench.peers.kserve_server PORT BATCH``."""

from __future__ import annotations

import logging
import sys
from typing import Any

from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer

from leakrange.load.bench.peers.program import OUTPUT, from_environment


class Bench(Model):
    """The one model."""

    def __init__(self) -> None:
        super().__init__("bench")
        self._program = from_environment()
        self.ready = True

    def predict(self, payload: InferRequest, *_: Any, **__: Any) -> InferResponse:
        """The values of all samples, written as the client asks."""
        values = self._program(payload.inputs[0].as_numpy())
        output = InferOutput(OUTPUT, list(values.shape), "FP32")
        output.set_data_from_numpy(values, binary_data=bool(payload.use_binary_outputs))
        return InferResponse(payload.id or "", self.name, [output])


if __name__ == "__main__":
    logging.disable(logging.INFO)  # a line for each request, which ours does not write either
    server = ModelServer(http_port=int(sys.argv[1]), enable_grpc=False, enable_latency_logging=False)
    server.start([Bench()])
