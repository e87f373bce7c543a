"""What a user of tritonclient does at the proxy, by the real client: ``tritonclient_session.py PART HOST KEY
PICTURES``, where PART is one of the functions below.

It runs in the environment of the peers, without Leakrange, and prints JSON: for each name either what was
answered or, of an exception of the client, its status and message.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

HOST, KEY, PICTURES = sys.argv[2:]
CLIENT = http.InferenceServerClient(HOST)
Asked = Callable[[], Any]


def allowed() -> dict[str, str]:
    """Headers of a request. The client writes into them, so each request has its own."""
    return {"Authorization": f"Bearer {KEY}"}


def taken(count: int, *, binary: bool) -> list[http.InferInput]:
    """The first pictures as the input of a request."""
    pictures = np.load(PICTURES)[:count]
    given = http.InferInput("input", list(pictures.shape), "UINT8")
    given.set_data_from_numpy(pictures, binary_data=binary)
    return [given]


def infer(count: int = 1, *, binary: bool = True, **more: Any) -> Any:
    """The released values of the first pictures."""
    more = {"outputs": [http.InferRequestedOutput("logits", binary_data=binary)], **more}
    answer = CLIENT.infer("digits", taken(count, binary=binary), headers=allowed(), **more)
    return answer.as_numpy(answer.get_response()["outputs"][0]["name"]).tolist()


def answers() -> dict[str, Asked]:
    """Seven pictures may be asked."""
    return {
        "live": CLIENT.is_server_live,
        "ready": lambda: CLIENT.is_model_ready("digits", headers=allowed()),
        "metadata": lambda: CLIENT.get_model_metadata("digits", headers=allowed()),
        "json": lambda: infer(2, binary=False, request_id="mine"),
        "binary": lambda: infer(2),
        "whatever it gives": lambda: infer(1, outputs=None),
        "at once": lambda: _at_once(4),
        "exhausted": lambda: infer(1),
    }


def _at_once(count: int) -> list[str]:
    """The statuses of so many requests of one picture, sent before the first is answered."""
    client = http.InferenceServerClient(HOST, concurrency=count)
    sent = [client.async_infer("digits", taken(1, binary=True), headers=allowed()) for _ in range(count)]
    statuses = []
    for each in sent:
        try:
            each.get_result()
            statuses.append("200")
        except InferenceServerException as error:
            statuses.append(str(error.status()))
    return sorted(statuses)


def permissions() -> dict[str, Asked]:
    """What a serving system can do beyond answering, as far as this client can ask it."""
    region = http.InferInput("input", [1, *np.load(PICTURES).shape[1:]], "UINT8")
    region.set_shared_memory("region", 192)
    elsewhere = http.InferRequestedOutput("logits")
    elsewhere.set_shared_memory("region", 40)
    named: dict[str, Any] = {"model_name": "digits", "headers": allowed()}
    return {
        "classification": lambda: infer(outputs=[http.InferRequestedOutput("logits", class_count=3)]),
        "another output": lambda: infer(outputs=[http.InferRequestedOutput("features")]),
        "shared memory in": lambda: CLIENT.infer("digits", [region], headers=allowed()),
        "shared memory out": lambda: infer(outputs=[elsewhere]),
        "a sequence": lambda: infer(sequence_id=7, sequence_start=True),
        "a priority": lambda: infer(priority=1),
        "a timeout": lambda: infer(timeout=1),
        "top k": lambda: infer(parameters={"top_k": 5}),
        "another version": lambda: infer(model_version="7"),
        "configuration": lambda: CLIENT.get_model_config(**named),
        "statistics": lambda: CLIENT.get_inference_statistics(**named),
        "all statistics": lambda: CLIENT.get_inference_statistics(headers=allowed()),
        "repository": lambda: CLIENT.get_model_repository_index(headers=allowed()),
        "load": lambda: CLIENT.load_model(config='{"backend": "python"}', **named),
        "unload": lambda: CLIENT.unload_model(**named),
        "trace": lambda: CLIENT.get_trace_settings(**named),
        "trace more": lambda: CLIENT.update_trace_settings(settings={"trace_level": "TENSORS"}, **named),
        "logging": lambda: CLIENT.get_log_settings(headers=allowed()),
        "log more": lambda: CLIENT.update_log_settings({"log_verbose_level": 1}, headers=allowed()),
        "regions": lambda: CLIENT.get_system_shared_memory_status(headers=allowed()),
        "a region": lambda: CLIENT.register_system_shared_memory("region", "/r", 192, headers=allowed()),
        "no region": lambda: CLIENT.unregister_system_shared_memory(headers=allowed()),
        "regions of a GPU": lambda: CLIENT.get_cuda_shared_memory_status(headers=allowed()),
        "a region of a GPU": lambda: CLIENT.register_cuda_shared_memory("r", b"h", 0, 192, headers=allowed()),
    }


def heard(asked: Asked) -> dict[str, Any]:
    """What came of it."""
    try:
        return {"answer": asked()}
    except InferenceServerException as error:
        return {"status": error.status(), "message": error.message()}


if __name__ == "__main__":
    parts = {"answers": answers, "permissions": permissions}
    sys.stdout.write(json.dumps({name: heard(asked) for name, asked in parts[sys.argv[1]]().items()}))
