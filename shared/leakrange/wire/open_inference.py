"""The Open Inference Protocol, version 2, in JSON and with Triton's binary tensors: read and written, on both
sides.

As a server we take one input and give one output, and refuse whatever else the protocol can ask for: options
by which servers rank, renormalise or log would undo what a policy does to a release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

import leakrange
from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import JSON

__all__ = [
    "DATATYPES",
    "HEAD_LENGTH",
    "INPUT",
    "InferRequest",
    "infer_answer",
    "model_metadata",
    "read_infer",
    "server_metadata",
    "tensor_answer",
    "tensor_request",
]

HEAD_LENGTH = "Inference-Header-Content-Length"
"""The header that counts the bytes of the JSON head."""
BINARY = "application/octet-stream"
REMEMBERED = 1024
"""Bytes of the longest head that is remembered."""
INPUT = "input"
"""The name of the input of all our models. An output is named after its release."""
DATATYPES: Mapping[str, str] = {
    "bool": "BOOL",
    **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
}
"""The protocol's names of NumPy's types."""
_TYPES = {datatype: np.dtype(name).newbyteorder("<") for name, datatype in DATATYPES.items()}


# --- as a server ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InferRequest:
    """A request for a release: ``samples`` (B, *shape), the request's ``id``, and whether the answer holds a
    ``binary`` tensor."""

    samples: NDArray[Any]
    id: str
    binary: bool


def read_infer(
    body: bytes, head_length: str | None, spec: SampleSpec, output: str, most: int
) -> InferRequest:
    """Read a request for the release named ``output`` of samples of ``spec``, ``most`` samples at most.

    Raises `MalformedBody`, `BodyTooLarge`, or `InvalidInput` for what is no such request, or asks for more.
    """
    length = _head_length(head_length, len(body))
    content = memoryview(body)[length:]
    if length <= REMEMBERED:
        head = _remembered(body[:length], spec, output, most)
    else:
        head = _head(memoryview(body)[:length], spec, output, most)
    return InferRequest(_samples(head, content, spec), head.id, head.binary)


def infer_answer(
    card: ModelCard, output: str, values: NDArray[np.float32], asked: InferRequest
) -> tuple[bytes, dict[str, str]]:
    """The body of the answer with ``values`` (B, ...), and its headers."""
    described: dict[str, Any] = {"name": output, "datatype": "FP32", "shape": list(values.shape)}
    head = {"model_name": card.name, "model_version": card.version, "outputs": [described]}
    if asked.id:
        head["id"] = asked.id
    if not asked.binary:
        described["data"] = np.ascontiguousarray(values).ravel()
        return orjson.dumps(head, option=orjson.OPT_SERIALIZE_NUMPY), {"Content-Type": JSON}
    content = np.ascontiguousarray(values, _TYPES["FP32"]).tobytes()
    described["parameters"] = {"binary_data_size": len(content)}
    written = orjson.dumps(head)
    return written + content, {"Content-Type": BINARY, HEAD_LENGTH: str(len(written))}


def server_metadata() -> dict[str, Any]:
    """The answer to ``GET /v2``."""
    return {"name": "leakrange", "version": leakrange.__version__, "extensions": ["binary_tensor_data"]}


def model_metadata(card: ModelCard, output: str) -> dict[str, Any]:
    """The answer to ``GET /v2/models/{model}`` for the release named ``output``."""
    taken = {"name": INPUT, "datatype": DATATYPES[card.input.dtype], "shape": [-1, *card.input.shape]}
    given = {"name": output, "datatype": "FP32", "shape": [-1, *card.shape_of(card.default_release)]}
    return {
        "name": card.name,
        "versions": [card.version],
        "platform": "leakrange",
        "inputs": [taken],
        "outputs": [given],
    }


def _head_length(stated: str | None, size: int) -> int:
    if stated is None:
        return size
    if not stated.isascii() or not stated.isdigit() or not 0 < int(stated) <= size:
        raise InvalidInput(
            f"{HEAD_LENGTH} is {stated[:20]!r}, of a body of {size} bytes",
            hint="raw bodies without a JSON head are not read",
        )
    return int(stated)


class _Head(NamedTuple):
    """What the JSON of a request says: the input's ``sides`` (B, *shape), and either its ``data`` or the
    ``size`` of what follows in bytes."""

    id: str
    binary: bool
    sides: tuple[int, ...]
    data: Any
    size: int | None


def _head(written: bytes | memoryview, spec: SampleSpec, output: str, most: int) -> _Head:
    try:
        head = orjson.loads(written)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"the request is no JSON: {error}") from error
    _only(head, "the request", {"id", "inputs", "outputs", "parameters"})
    binary = _parameters(head, "the request", {"binary_data_output"}).get("binary_data_output", False)
    wanted = head.get("outputs")
    if wanted is not None:
        if not isinstance(wanted, list) or len(wanted) != 1:
            raise InvalidInput(f"one output can be asked for, {output!r}")
        _only(wanted[0], "the output", {"name", "parameters"})
        if wanted[0].get("name") != output:
            raise InvalidInput(f"there is no output {str(wanted[0].get('name'))[:60]!r}: it is {output!r}")
        binary = _parameters(wanted[0], "the output", {"binary_data"}).get("binary_data", binary)
    inputs = head.get("inputs")
    if not isinstance(inputs, list) or len(inputs) != 1:
        raise InvalidInput(f"a request has one input, {INPUT!r}")
    sides, data, size = _input(inputs[0], spec, most)
    identity = head.get("id", "")
    if not isinstance(identity, str) or len(identity) > 200:
        raise InvalidInput("an id is a text of at most 200 characters")
    return _Head(identity, binary is True, sides, data, size)


_remembered = lru_cache(256)(_head)
"""Clients with binary tensors send the same head again and again."""


def _only(given: Any, what: str, known: set[str]) -> None:
    if not isinstance(given, dict):
        raise InvalidInput(f"{what} is no JSON object")
    if refused := sorted(set(given) - known):
        raise InvalidInput(
            f"{what} has {refused[0][:60]!r}, which is not served: there are {', '.join(sorted(known))}"
        )


def _parameters(given: dict[str, Any], what: str, known: set[str]) -> dict[str, Any]:
    parameters = given.get("parameters", {})
    _only(parameters, f"'parameters' of {what}", known)
    return parameters  # type: ignore[no-any-return]


def _input(given: Any, spec: SampleSpec, most: int) -> tuple[tuple[int, ...], Any, int | None]:
    """Sides, data and size of an input, see `_Head`."""
    _only(given, "the input", {"name", "shape", "datatype", "data", "parameters"})
    size = _parameters(given, "the input", {"binary_data_size"}).get("binary_data_size")
    if given.get("name") != INPUT:
        raise InvalidInput(f"there is no input {str(given.get('name'))[:60]!r}: it is {INPUT!r}")
    wanted, shape = DATATYPES[spec.dtype], given.get("shape")
    if given.get("datatype") != wanted:
        raise InvalidInput(f"the input is {str(given.get('datatype'))[:20]}; this model takes {wanted}")
    sides = [each for each in shape if type(each) is int] if isinstance(shape, list) else []
    if tuple(sides[1:]) != spec.shape or sides != shape or sides[0] < 1:
        raise InvalidInput(f"the input's shape is {str(shape)[:80]}; this model takes {[-1, *spec.shape]}")
    if sides[0] > most:
        raise BodyTooLarge(f"{sides[0]} samples in one request; this model takes {most}")
    if (size is None) == ("data" not in given):
        raise InvalidInput("an input has either 'data' or 'binary_data_size'")
    return tuple(sides), given.get("data"), size


def _samples(head: _Head, content: memoryview, spec: SampleSpec) -> NDArray[Any]:
    number, stored = math.prod(head.sides), _TYPES[DATATYPES[spec.dtype]]
    if head.size is not None:
        if head.size != len(content) or head.size != number * stored.itemsize:
            raise InvalidInput(
                f"{len(content)} bytes follow the head; the input of that shape has another size"
            )
        values: NDArray[Any] = np.frombuffer(content, stored).reshape(head.sides)
    else:
        values = _numbers(head.data, spec, number).reshape(head.sides)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InvalidInput("a sample's numbers must be finite: NaN or infinity found")
    return values


def _numbers(data: Any, spec: SampleSpec, number: int) -> NDArray[Any]:
    """The numbers of a JSON input, nested or flat, in the type of ``spec``."""
    try:
        values = np.array(data)
    except ValueError as error:
        raise InvalidInput("the input's 'data' are lists of different lengths") from error
    if values.dtype.kind not in "iuf" or values.size != number:
        raise InvalidInput(f"the input's 'data' are {values.size} values; its shape has {number} numbers")
    if spec.dtype == "uint8" and not ((values >= 0) & (values <= 255) & (values == np.floor(values))).all():
        raise InvalidInput("the input's numbers are whole, of 0 to 255")
    with np.errstate(over="ignore"):  # infinity is refused afterwards
        return values.astype(spec.dtype)


# --- as a client ------------------------------------------------------------------------------------------


def tensor_request(input_name: str, output: str, samples: NDArray[Any]) -> tuple[bytes, dict[str, str]]:
    """The body that sends ``samples`` as one binary input and asks for one output, and its headers."""
    content = np.ascontiguousarray(samples, _TYPES[DATATYPES[samples.dtype.name]]).tobytes()
    sent = {
        "name": input_name,
        "shape": list(samples.shape),
        "datatype": DATATYPES[samples.dtype.name],
        "parameters": {"binary_data_size": len(content)},
    }
    wanted = {"name": output, "parameters": {"binary_data": True}}
    head = orjson.dumps({"inputs": [sent], "outputs": [wanted]})
    return head + content, {"Content-Type": BINARY, HEAD_LENGTH: str(len(head))}


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
