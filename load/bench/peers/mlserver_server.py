"""MLServer, batching as documented, in one process, in JSON:
``python -m leakrange.load.bench.peers.mlserver_server PORT BATCH``."""

from __future__ import annotations

import asyncio
import logging
import sys

from mlserver import MLModel, MLServer, ModelSettings, Settings
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse

from leakrange.load.bench.peers.program import OUTPUT, from_environment


class Bench(MLModel):
    """The one model."""

    async def load(self) -> bool:
        """Read the program."""
        self._program = from_environment()
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """The values of all samples."""
        values = self._program(NumpyCodec.decode_input(payload.inputs[0]))
        outputs = [NumpyCodec.encode_output(OUTPUT, values)]
        return InferenceResponse(id=payload.id, model_name=self.name, outputs=outputs)


async def main(port: int, batch: int) -> None:
    """Serve until the process is ended."""
    batching = {"max_batch_size": batch, "max_batch_time": 0.002} if batch > 1 else {}
    settings = Settings(
        host="127.0.0.1", http_port=port, grpc_port=0, metrics_endpoint=None, parallel_workers=0, debug=False
    )
    await MLServer(settings).start([ModelSettings(name="bench", implementation=Bench, **batching)])


if __name__ == "__main__":
    logging.disable(logging.INFO)  # a line for each request, which ours does not write either
    asyncio.run(main(*map(int, sys.argv[1:])))
