"""Binary tensors of the Open Inference Protocol: Triton's extension, with a JSON head before the bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["DATATYPES", "HEAD_LENGTH", "tensor_answer", "tensor_request"]

HEAD_LENGTH = "Inference-Header-Content-Length"
"""The header that counts the bytes of the JSON head."""
DATATYPES: Mapping[str, str] = {
    "bool": "BOOL",
    **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
}
"""The protocol's names of NumPy's types."""
_TYPES = {datatype: np.dtype(name).newbyteorder("<") for name, datatype in DATATYPES.items()}


def tensor_request(input_name: str, output: str, samples: NDArray[Any]) -> tuple[bytes, dict[str, str]]:
    """The body that sends ``samples`` as one input and asks for one output, and its headers."""
    content = np.ascontiguousarray(samples, _TYPES[DATATYPES[samples.dtype.name]]).tobytes()
    sent = {
        "name": input_name,
        "shape": list(samples.shape),
        "datatype": DATATYPES[samples.dtype.name],
        "parameters": {"binary_data_size": len(content)},
    }
    head = orjson.dumps(
        {"inputs": [sent], "outputs": [{"name": output, "parameters": {"binary_data": True}}]}
    )
    return head + content, {"Content-Type": "application/octet-stream", HEAD_LENGTH: str(len(head))}


def tensor_answer(body: bytes, head_length: str | None, output: str) -> NDArray[Any]:
    """The values of the named output, binary or JSON, in their own type and shape. Raises `InvalidInput`
    where it is not there, or where its size is not what it says."""
    try:
        length = len(body) if head_length is None else int(head_length)
        head = orjson.loads(memoryview(body)[:length])
        place = length
        for each in head["outputs"]:
            size = (each.get("parameters") or {}).get("binary_data_size")
            if each["name"] == output:
                kind, shape = _TYPES[each["datatype"]], tuple(each["shape"])
                if size is None:
                    return np.array(each["data"], kind).reshape(shape)
                if size != math.prod(shape) * kind.itemsize:
                    raise ValueError("the size of the output is not that of its shape")
                return np.frombuffer(body, kind, math.prod(shape), place).reshape(shape)
            place += size or 0
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InvalidInput(f"the answer is none of the Open Inference Protocol: {error!r}") from error
    raise InvalidInput(f"the answer has no output {output!r}")
