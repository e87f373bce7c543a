"""Rows of a table from what a serving system logs: a request and its response, of the V1 protocol of KServe
and TensorFlow Serving, or of the Open Inference Protocol (V2) in JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from leakrange.wire.errors import InvalidInput, MalformedBody

__all__ = ["INPUT", "OUTPUT", "REQUEST", "RESPONSE", "Row", "joined_rows"]

REQUEST, RESPONSE = "org.kubeflow.serving.inference.request", "org.kubeflow.serving.inference.response"
"""The types of KServe's events."""
INPUT, OUTPUT = "x", "p"
"""What the names of columns begin with: a model's inputs, and its outputs."""
MOST_INPUTS = 256
"""Values of a sample that are kept; of one with more, such as a picture, none is."""
MOST_OUTPUTS = 2048
LONGEST, LONGEST_NAME = 256, 64
"""Characters of a text, and of the name of a column."""
DEEPEST = 8
"""Lists and objects within each other."""

Row = dict[str, str | int | float | None]
"""The values of one sample by column."""


def joined_rows(request: bytes, response: bytes) -> list[Row]:
    """A row for each sample: its inputs, by columns that begin with ``x``, and what the model answered, by
    columns that begin with ``p``. Inputs that are long, as pictures and documents are, are left out.

    Raises `MalformedBody` for what is no JSON, `InvalidInput` for what is neither protocol's, is ragged, or
    does not fit together.
    """
    inputs = _rows(_payload(request), "instances", "inputs", INPUT)
    outputs = _rows(_payload(response), "predictions", "outputs", OUTPUT)
    if len(inputs) != len(outputs):
        raise InvalidInput(f"{len(inputs)} samples were asked about, and {len(outputs)} are answered")
    if not all(_short(row, MOST_OUTPUTS) for row in outputs):
        raise InvalidInput(
            f"an answer has more than {MOST_OUTPUTS} values, or texts that are long or cannot be printed",
            hint="answers of scores are recorded, not documents",
        )
    if not all(_short(row, MOST_INPUTS) for row in inputs):
        inputs = [{} for _ in inputs]
    return [{**asked, **answered} for asked, answered in zip(inputs, outputs, strict=True)]


def _short(row: Row, most: int) -> bool:
    """Whether a row is none of a document, and every name and text of it can stand in a table."""
    texts = (text for text in row.values() if isinstance(text, str))
    return (
        len(row) <= most
        and all(len(name) <= LONGEST_NAME and name.isprintable() for name in row)
        and all(len(text) <= LONGEST and text.isprintable() for text in texts)
    )


def _payload(content: bytes) -> dict[str, Any]:
    try:
        payload = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"a logged body is no JSON: {error}") from error
    if not isinstance(payload, dict):
        raise InvalidInput("a logged body is no JSON object")
    return payload


def _rows(payload: Mapping[str, Any], first: str, second: str, prefix: str) -> list[Row]:
    """The samples of a payload, which lie under its member ``first`` (V1) or ``second`` (V2)."""
    samples, tensors = payload.get(first), payload.get(second)
    if isinstance(samples, list):
        rows = [dict(_cells(sample, prefix)) for sample in samples]
    elif isinstance(tensors, list):
        rows = _of_tensors(tensors, prefix)
    else:
        raise InvalidInput(
            f"a logged body has neither a list of {first!r} nor one of {second!r}",
            hint="KServe's V1 protocol and the Open Inference Protocol are read",
        )
    if not rows or not all(row.keys() == rows[0].keys() for row in rows):
        raise InvalidInput(
            f"the {first if isinstance(samples, list) else second!r} differ in form, or are none"
        )
    return rows


def _of_tensors(tensors: Sequence[Any], prefix: str) -> list[Row]:
    """Tensors side by side: each has a name, and as many entries as there are samples."""
    rows: list[Row] = []
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str) or "data" not in tensor:
            raise InvalidInput("a tensor has no 'name' or no 'data'", hint="binary tensors are not read")
        entries = _entries(tensor)
        if place and len(entries) != len(rows):
            raise InvalidInput(f"a tensor has {len(entries)} entries, another {len(rows)}")
        rows = rows or [{} for _ in entries]
        for row, entry in zip(rows, entries, strict=True):
            row.update(_cells(entry, f"{prefix}_{tensor['name']}"))
    return rows


def _entries(tensor: Mapping[str, Any]) -> list[Any]:
    """The entries of a tensor's data, which are nested or in one line."""
    shape = tensor.get("shape")
    whole = isinstance(shape, list) and all(type(side) is int and 0 <= side < 2**31 for side in shape)
    try:
        data = np.array(tensor["data"], dtype=object)
        values = data.reshape(shape) if whole and data.size == math.prod(shape) else None  # type: ignore[arg-type]
    except ValueError:
        values = None
    if values is None or values.ndim == 0:
        raise InvalidInput(f"the data of the tensor {tensor['name'][:60]!r} do not have its shape")
    entries: list[Any] = values.reshape(len(values), -1).tolist() if values.ndim > 1 else values.tolist()
    return [entry[0] if isinstance(entry, list) and len(entry) == 1 else entry for entry in entries]


def _cells(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, str | int | float | None]]:
    """The scalars of a sample with their names: those of a list are numbered, those of an object named."""
    if depth > DEEPEST:
        raise InvalidInput(f"a sample has more than {DEEPEST} lists within each other")
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _cells(inner, f"{name}_{key}", depth + 1)
    else:
        yield name, int(value) if isinstance(value, bool) else value
