"""The formats of model files, and which one a file is in: by what is in it, whatever its name."""

from __future__ import annotations

from collections.abc import Mapping

from leakrange.providers.foreign.format import FileFormat, members
from leakrange.providers.foreign.formats.onnx_graph import OnnxGraph
from leakrange.providers.foreign.formats.skops_file import SkopsFile
from leakrange.providers.foreign.formats.torch_program import ExportedProgram, TorchScript
from leakrange.wire.errors import InvalidArtifact

__all__ = ["FORMATS", "format_of"]

FORMATS: Mapping[str, type[FileFormat]] = {
    each.name: each for each in (OnnxGraph, SkopsFile, ExportedProgram, TorchScript)
}
SERVED = "ONNX, scikit-learn saved by skops, torch.export and TorchScript files are served"


def format_of(content: bytes) -> type[FileFormat]:
    """The format of a file's content; raises `InvalidArtifact`, which says what the file is where it is known
    and how to convert it."""
    if not content:
        raise InvalidArtifact("the file is empty", hint="copy or save it again")
    names = members(content)
    for known, sentence, hint in _NOT_SERVED:
        if known(content, names):
            raise InvalidArtifact(sentence, hint=hint)
    for entry in FORMATS.values():
        if entry.holds(content):
            return entry
    raise InvalidArtifact("the file is in no format that is known here", hint=SERVED)


def _pickled(content: bytes, names: list[str]) -> bool:
    saved_by_torch = any(name.endswith("data.pkl") for name in names) and not any(
        name.endswith("constants.pkl") for name in names
    )
    return saved_by_torch or content[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


_COMPRESSED = (
    b"\x78\x01",
    b"\x78\x5e",
    b"\x78\x9c",
    b"\x78\xda",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x04\x22M\x18",
)
"""How zlib (four levels), gzip, bzip2, xz and lz4 begin."""
_NOT_SERVED = (
    (
        _pickled,
        "the file is a pickle, as pickle, joblib and torch.save write it: reading it runs whatever its maker"
        " put in. It was not opened",
        "save a scikit-learn model with skops.io.dump, and a torch model with torch.onnx.export",
    ),
    (
        lambda content, _names: content.startswith(_COMPRESSED),
        "the file is compressed, as joblib writes pickles: it was not opened",
        "save a scikit-learn model with skops.io.dump; unpack anything else first",
    ),
    (
        lambda content, names: content.startswith(b"\x89HDF") or "model.weights.h5" in names,
        "the file is a Keras model, which is not served as it is",
        "convert it with tf2onnx, or with model.export(path, format='onnx')",
    ),
    (
        lambda content, _names: content[8:9] == b"{" and int.from_bytes(content[:8], "little") < len(content),
        "the file is safetensors: weights without the net that they belong to",
        "export the net with its weights by torch.onnx.export; a model that Leakrange trained is deployed"
        " by its digest",
    ),
    (
        lambda content, _names: content[4:8] == b"TFL3",
        "the file is a TensorFlow Lite model, which is not served as it is",
        "convert it with tf2onnx --tflite",
    ),
)
"""Files that are known and not served: how one is recognised by content and names of parts, what to say, and
what to do."""
