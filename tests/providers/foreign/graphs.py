"""Small ONNX graphs, written node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from leakrange.providers.foreign.card import FileCard, read_card

WEIGHTS = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], dtype=np.float32)
CARD = """
input: {encoding: table, columns: [age, hours], scale: [40, 10], offset: [-1, 0.5]}
classes: [low, middle, high]
release: softmax
task: income
"""


def card(text: str = CARD, **changes: Any) -> FileCard:
    read = read_card(text.encode(), FileCard)
    return FileCard.model_validate({**read.model_dump(), **changes})


def graph(
    nodes: list[onnx.NodeProto],
    *,
    takes: tuple[Any, ...] = ("n", 2),
    gives: dict[str, int] | None = None,
    of: int = TensorProto.FLOAT,
    weights: dict[str, NDArray[Any]] | None = None,
    domains: tuple[str, ...] = (),
) -> onnx.ModelProto:
    """A graph from ``x`` to the outputs that ``gives`` names with their types."""
    body = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", of, takes)],
        [helper.make_tensor_value_info(name, type, None) for name, type in (gives or {"y": 1}).items()],
        [numpy_helper.from_array(values, name) for name, values in (weights or {"w": WEIGHTS}).items()],
    )
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(body, opset_imports=opsets, ir_version=8)


def linear(*, softmax: bool = True, **more: Any) -> onnx.ModelProto:
    """Logits of two columns by `WEIGHTS`; with ``softmax`` their softmax."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["logits" if softmax else "y"])]
    if softmax:
        nodes.append(helper.make_node("Softmax", ["logits"], ["y"], axis=1))
    return graph(nodes, **more)
