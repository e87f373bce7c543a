"""ONNX graphs, run by onnxruntime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard
from leakrange.providers.foreign.format import MOST_BYTES, FileFormat, FileNet, as_numbers, first_line
from leakrange.providers.foreign.prepared import shape_taken
from leakrange.wire.disk import read_regular
from leakrange.wire.errors import InvalidArtifact

__all__ = ["OnnxGraph"]

DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""Whose operators onnxruntime itself brings."""
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
TAKEN: dict[str, Any] = {
    **FLOATS,
    "tensor(uint8)": np.uint8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


class OnnxGraph(FileFormat):
    """A graph of operators. It runs no code of its maker, only operators of onnxruntime."""

    name, title, file = "onnx", "ONNX", "model.onnx"
    packages = ("onnx", "onnxruntime")

    @classmethod
    def holds(cls, content: bytes) -> bool:
        """See `FileFormat.holds`: every graph begins with the version of its format, of one byte."""
        return content[:1] == b"\x08" and b"\x00" < content[1:2] < b"\x80"

    @classmethod
    def sealed(cls, content: bytes, folder: Path) -> bytes:
        """See `FileFormat.sealed`: weights that lie in files beside the graph are put into it."""
        from onnx import TensorProto

        model = _parsed(content)
        _check_operators(model)
        outside = [
            each
            for each in _messages(model)
            if isinstance(each, TensorProto) and each.data_location == TensorProto.EXTERNAL
        ]
        files: dict[str, bytes] = {}
        for tensor in outside:
            _fill(tensor, folder, files)
        if not outside:
            return content
        if (size := model.ByteSize()) > MOST_BYTES:
            raise InvalidArtifact(f"the graph has {size:,} bytes with its weights; at most {MOST_BYTES:,}")
        sealed: bytes = model.SerializeToString()
        return sealed

    @classmethod
    def net(cls, content: bytes, card: FileCard, *, trusted: bool, threads: int) -> FileNet:  # noqa: ARG003
        """See `FileFormat.net`."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what is wrong is raised
        try:
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common base
            raise InvalidArtifact(
                f"onnxruntime cannot load the graph: {first_line(error)}",
                hint="export it again, with an opset that the installed onnxruntime knows",
            ) from error
        try:
            (given, batch), name = _input(session, card), _output(session, card)
        except UnicodeDecodeError as error:
            raise InvalidArtifact(
                "the graph is damaged: its names are no text", hint="copy or export it again"
            ) from error
        dtype = TAKEN[given.type]

        def run(samples: NDArray[Any]) -> NDArray[np.float32]:
            values = session.run([name], {given.name: samples.astype(dtype)})[0]
            return as_numbers(values, f"the output {name!r}")

        return run if batch is None else _in_batches(run, batch)


def _parsed(content: bytes) -> Any:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    try:
        model = ModelProto.FromString(content)
    except DecodeError as error:
        raise InvalidArtifact(
            "the file is a damaged or truncated ONNX graph, or none", hint="copy or export it again"
        ) from error
    if not model.graph.node:
        raise InvalidArtifact("the ONNX graph is empty: it computes nothing", hint="export it again")
    return model


def _messages(message: Any) -> Iterator[Any]:
    """A message of protobuf and all messages in it: graphs lie in nodes, and tensors nearly everywhere."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                yield from _messages(each)


def _check_operators(model: Any) -> None:
    from onnx import NodeProto

    there = DOMAINS | {function.domain for function in model.functions}
    nodes = (each for each in _messages(model) if isinstance(each, NodeProto))
    custom = Counter(f"{node.domain}.{node.op_type}" for node in nodes if node.domain not in there)
    if custom:
        raise InvalidArtifact(
            f"the graph uses operators of its maker's own, which no code here computes:"
            f" {', '.join(sorted(custom)[:5])}",
            hint="export the model with standard operators alone; libraries of operators are not loaded",
        )


def _fill(tensor: Any, folder: Path, files: dict[str, bytes]) -> None:
    """Put the content of a file below ``folder`` into a tensor that refers to it. ``files`` keeps what was
    read."""
    from onnx import TensorProto

    place = {entry.key: entry.value for entry in tensor.external_data}
    location = place.get("location", "")
    path = PurePosixPath(location)
    if not location or path.is_absolute() or ".." in path.parts or "\\" in location or "\0" in location:
        raise InvalidArtifact(
            f"the graph wants weights from {location[:200]!r}, which leads out of its folder; it was not"
            " read",
            hint="export the model again, with its weights inside or in a file beside it",
        )
    try:
        if location not in files:
            files[location] = read_regular(folder, location, MOST_BYTES)
        start = int(place.get("offset", 0))
        length = int(place.get("length", len(files[location]) - start))
    except OSError as error:
        raise InvalidArtifact(
            f"the graph wants weights from {location[:200]!r} beside it, which cannot be read:"
            f" {error.strerror}",
            hint="keep the files of an export together in one folder",
        ) from error
    except ValueError as error:
        raise InvalidArtifact(f"the graph names no place in {location[:200]!r}: {error}") from error
    if start < 0 or length < 0 or start + length > len(files[location]):
        raise InvalidArtifact(f"the graph wants weights beyond the end of {location[:200]!r}")
    tensor.raw_data = files[location][start : start + length]
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _input(session: Any, card: FileCard) -> tuple[Any, int | None]:
    """The only input of a graph, and the number of samples that it insists on (None: any)."""
    inputs = session.get_inputs()
    names = [each.name for each in inputs]  # read here, where one that is no text is told
    if len(inputs) != 1:
        raise InvalidArtifact(
            f"the graph takes {len(inputs)} inputs ({', '.join(names[:10])}); one is served",
            hint="export it with a single input; from scikit-learn, convert one array in place of columns",
        )
    given = inputs[0]
    if given.type not in TAKEN:
        raise InvalidArtifact(
            f"the graph takes {given.type}; served are graphs of {', '.join(TAKEN)}",
            hint="export it with an input of one of these",
        )
    if given.type not in FLOATS and (card.input.scale != 1.0 or card.input.offset != 0.0):
        raise InvalidArtifact(
            f"the graph takes whole numbers ({given.type}), and the card scales them",
            hint="leave scale and offset out of the card",
        )
    batch, *sides = given.shape or [None]
    wanted = shape_taken(card)
    if len(sides) != len(wanted) or any(
        isinstance(side, int) and side != want for side, want in zip(sides, wanted, strict=True)
    ):
        raise InvalidArtifact(
            f"the graph takes samples of shape ({_listed(sides)}); by the card it would get"
            f" ({_listed(wanted)}), {card.layout}",
            hint="correct the shape or the layout (channels-first, channels-last, flat) in the card",
        )
    return given, batch if isinstance(batch, int) else None


def _output(session: Any, card: FileCard) -> str:
    outputs = {each.name: each.type for each in session.get_outputs()}
    name = card.output or (next(iter(outputs)) if len(outputs) == 1 else "")
    if name not in outputs:
        raise InvalidArtifact(
            f"the graph has no output {name!r}" if name else f"the graph has {len(outputs)} outputs",
            hint=f"write one of these as 'output' into the card: {', '.join(list(outputs)[:20])}",
        )
    if outputs[name] not in FLOATS:
        raise InvalidArtifact(
            f"the output {name!r} is {outputs[name]}, and not a tensor of numbers with a fraction",
            hint="name an output that gives scores; skl2onnx gives them as a tensor with"
            " options={'zipmap': False}",
        )
    return name


def _in_batches(run: FileNet, batch: int) -> FileNet:
    """Run a graph that insists on so many samples; the last batch is filled up with its last sample."""

    def run_all(samples: NDArray[Any]) -> NDArray[np.float32]:
        parts = []
        for start in range(0, len(samples), batch):
            part = samples[start : start + batch]
            filled = np.concatenate([part, np.repeat(part[-1:], batch - len(part), axis=0)])
            parts.append(run(filled)[: len(part)])
        return np.concatenate(parts)

    return run_all


def _listed(sides: Any) -> str:
    return ", ".join(map(str, sides))
