"""Edge clients: they run the model on their samples, upload the outputs, and check the decisions."""

from __future__ import annotations

import json
import subprocess
import sys
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar

import gevent
import numpy as np
from gevent.lock import BoundedSemaphore
from locust import between, task
from numpy.typing import NDArray

from leakrange.data import load
from leakrange.load.users.user import IDLE, LoadUser
from leakrange.services.controller.load.schemas import OfferedVisit
from leakrange.wire.endpoints import UPLOADS
from leakrange.wire.tensors import NPY, encode_npy, npy_view

__all__ = ["HonestClient"]

UPLOADED = 8
"""Number of samples of one upload, or of one question."""
SAMPLES = 128
"""Number of samples that a model is asked about."""


class HonestClient(LoadUser):
    """Visits a model, with pauses as people make them. At a service without a model to download it asks the
    questions of its users."""

    kind = "honest"
    wait_time = between(0.2, 1.0)
    _outputs: ClassVar[dict[str, NDArray[Any]]] = {}
    """What is sent by model, outputs of a device or samples, computed once in each process."""
    _computing: ClassVar[BoundedSemaphore] = BoundedSemaphore()

    def on_start(self) -> None:
        """Find the desk, and draw this client's samples."""
        super().on_start()
        self._draw = np.random.default_rng()
        self._turn = int(self._draw.integers(2**31))

    @task
    def ask(self) -> None:
        """Ask a chunk where there is one, else visit a model."""
        chunk = self.desk.take(self.kind)
        if chunk is not None:
            self.carry_out(chunk)
        elif self.desk.visits:
            self._turn += 1
            self._visit(self.desk.visits[self._turn % len(self.desk.visits)])
        else:
            gevent.sleep(IDLE)

    def _visit(self, visit: OfferedVisit) -> None:
        outputs = self._of(visit)
        chosen = outputs[self._draw.choice(len(outputs), min(UPLOADED, len(outputs)), replace=False)]
        headers = {"Authorization": f"Bearer {visit.key}", "Content-Type": NPY}
        headers |= {"Accept": NPY} if visit.endpoint else {"X-Release": visit.release}
        url = f"{visit.url.rstrip('/')}/v1/models/{visit.model}/{visit.endpoint or UPLOADS}"
        body: Any = encode_npy(chosen)  # Locust's types know no bytes
        with self.client.post(
            url,
            data=body,
            headers=headers,
            name=visit.defence,
            catch_response=True,
        ) as answer:
            wrong = mistake(visit, chosen, answer.content) if answer.status_code == 200 else ""
            self.note(answer, answer.status_code, wrong)

    def _of(self, visit: OfferedVisit) -> NDArray[Any]:
        """What is sent of its users: outputs of the model, or samples where it is asked."""
        with self._computing:
            if visit.endpoint is not None and visit.model not in self._outputs:
                data = load(visit.data)
                self._outputs[visit.model] = data.values[data.where("test")[:SAMPLES]]
            if visit.model not in self._outputs:
                # In another process, since threads of torch and gevent do not work together.
                with NamedTemporaryFile(suffix=".npy") as file:
                    command = [sys.executable, "-m", "leakrange.load.users.outputs", file.name]
                    order = visit.model_dump_json().encode()
                    subprocess.run(command, input=order, stdout=sys.stderr.fileno(), check=True)
                    self._outputs[visit.model] = np.load(file.name, allow_pickle=False)
            return self._outputs[visit.model]


def mistake(visit: OfferedVisit, outputs: NDArray[Any], answer: bytes) -> str:
    """The mistake in the decisions on ``outputs`` (B, N), or in the release of samples; empty where there is
    none. Without a defence, the decision is the class of the greatest value."""
    if visit.endpoint is not None:
        values = npy_view(answer)
        return "" if len(values) == len(outputs) else f"{len(values)} values of {len(outputs)} samples"
    decisions = json.loads(answer).get("decisions")
    if not isinstance(decisions, list) or len(decisions) != len(outputs):
        return f"not one decision for each of {len(outputs)} outputs"
    if visit.plain and decisions != outputs.argmax(axis=1).tolist():
        return "decisions are not those that the outputs say"
    return ""
