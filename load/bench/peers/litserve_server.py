"""LitServe, batching as documented: ``python -m leakrange.load.bench.peers.litserve_server PORT BATCH``."""

from __future__ import annotations

import sys
from typing import Any

import litserve
import numpy as np

from leakrange.load.bench.peers.net import from_base64, from_environment


class Api(litserve.LitAPI):
    """JSON with an npy file in base64 to JSON."""

    def setup(self, _device: str) -> None:
        """Build the net."""
        self.net = from_environment()

    def decode_request(self, request: dict[str, str]) -> Any:
        """The images (b, H, W, 3) of a request."""
        return from_base64(request["inputs"])

    def batch(self, inputs: list[Any]) -> Any:
        """A batch of requests of one image each."""
        return np.concatenate(inputs)

    def predict(self, images: Any) -> Any:
        """Logits (B, 2)."""
        return self.net(images)

    def unbatch(self, output: Any) -> Any:
        """The part of the output for each request."""
        return list(output[:, np.newaxis])

    def encode_response(self, output: Any) -> dict[str, Any]:
        """The JSON of the answer."""
        return {"values": output.tolist()}


if __name__ == "__main__":
    port, batch = map(int, sys.argv[1:])
    api = Api(max_batch_size=batch, batch_timeout=0.002, api_path="/base64")
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=port, log_level="error", generate_client_file=False, access_log=False)
