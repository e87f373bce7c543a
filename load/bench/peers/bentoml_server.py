"""BentoML, batching as documented: ``bentoml serve leakrange.load.bench.peers.bentoml_server:Classify``."""

from __future__ import annotations

import os
from typing import Any

import bentoml
import numpy as np

from leakrange.load.bench.peers.net import from_base64, from_environment

BATCH = int(os.environ["BENCH_BATCH"])


@bentoml.service(workers=1, traffic={"timeout": 60})
class Classify:
    """JSON with an npy file in base64 to JSON."""

    def __init__(self) -> None:
        self.net = from_environment()

    @bentoml.api(batchable=BATCH > 1, max_batch_size=BATCH, max_latency_ms=60_000, route="/base64")
    def classify(self, inputs: list[str]) -> Any:
        """Logits of one image a request."""
        return list(self.net(np.concatenate([from_base64(each) for each in inputs])).tolist())
