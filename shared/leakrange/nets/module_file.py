"""Files of nets that may come from anywhere: safetensors with a JSON config, checked before a weight is used.

The net that the config describes is built first, and every claim of the file (config, names, types, shapes,
sizes) is checked against it; weights are read after that. Nothing in the file is ever run. All failures are
`InvalidArtifact`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import torch
from pydantic import Field, TypeAdapter, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.torch import load as from_safetensors
from safetensors.torch import save as to_safetensors
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from leakrange.strict import Strict
from leakrange.wire.errors import InvalidArtifact

__all__ = ["MAX_BYTES", "ModuleFile", "Uninitialised", "first_mistake", "packed"]

METADATA_KEY = "leakrange"
MAX_BYTES = 256 * 2**20
MAX_HEADER = 2**20
TYPES = {torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8"}
SIZES = {"F32": 4, "I64": 8, "U8": 1}


class _Entry(Strict):
    dtype: Literal["F32", "I64", "U8"]
    shape: list[Annotated[int, Field(ge=0)]]
    data_offsets: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]

    @model_validator(mode="after")
    def _size_fits(self) -> _Entry:
        if self.data_offsets[1] - self.data_offsets[0] != SIZES[self.dtype] * math.prod(self.shape):
            raise ValueError("data_offsets do not fit the shape")
        return self


class Uninitialised(TorchFunctionMode):
    """Leaves out the random initial weights of nets that are built inside: the file's weights take their
    place.

    Drawing them would touch the caller's random generator, and on the meta device cost seconds of imports.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """See `TorchFunctionMode`."""
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class ModuleFile:
    """A file whose header has been checked: its ``config`` as text, and its tensors' entries, which lie
    within the file."""

    content: bytes
    config: str
    entries: Mapping[str, _Entry]

    @classmethod
    def read(cls, source: bytes | Path, most: int = MAX_BYTES) -> ModuleFile:
        """The checked file, which may have ``most`` bytes; raises `InvalidArtifact`."""
        content = _content(source, most)
        return cls(content, *_header(content))

    def weights(self, plan: nn.Module) -> dict[str, Tensor]:
        """The file's tensors; raises `InvalidArtifact` unless they fit ``plan`` one to one and are finite."""
        expected, entries = plan.state_dict(), self.entries
        missing, extra = sorted(expected.keys() - entries.keys()), sorted(entries.keys() - expected.keys())
        if missing or extra:
            mistakes = [
                f"{problem}: {', '.join(names[:5])}"
                for problem, names in (("missing", missing), ("unknown", extra))
                if names
            ]
            raise InvalidArtifact(
                f"the tensors of the model file do not fit its config; {'; '.join(mistakes)}"
            )
        for name, tensor in expected.items():
            entry = entries[name]
            if entry.shape != list(tensor.shape) or entry.dtype != TYPES[tensor.dtype]:
                raise InvalidArtifact(
                    f"tensor {name!r} of the model file is {entry.dtype} {entry.shape}, "
                    f"its config asks for {TYPES[tensor.dtype]} {list(tensor.shape)}"
                )
        try:
            weights = from_safetensors(self.content)
        except SafetensorError as e:
            raise InvalidArtifact(f"not a valid safetensors file: {e}") from e
        for name, tensor in weights.items():
            if not torch.isfinite(tensor).all():
                raise InvalidArtifact(f"tensor {name!r} of the model file holds values that are not finite")
            if name.endswith("running_var") and (tensor < 0).any():
                raise InvalidArtifact(f"tensor {name!r} of the model file holds negative variances")
        return weights


def packed(tensors: Mapping[str, Tensor], config: str) -> bytes:
    """The bytes of a file with these tensors and that JSON config, for `ModuleFile.read`."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return to_safetensors(contiguous, metadata={METADATA_KEY: config})


def first_mistake(error: ValidationError) -> str:
    """The place of the first mistake in a config, and what is wrong there."""
    mistake = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"


def _content(source: bytes | Path, most: int) -> bytes:
    if isinstance(source, bytes):
        size = len(source)
    else:
        try:
            size = source.stat().st_size
        except OSError as e:
            raise InvalidArtifact(f"the model file cannot be read: {e}") from e
    if size > most:
        raise InvalidArtifact(f"a model file of {size:,} bytes; at most {most:,} are read")
    return source if isinstance(source, bytes) else source.read_bytes()


def _header(content: bytes) -> tuple[str, dict[str, _Entry]]:
    """The config text and the tensors' entries, which lie within the file."""
    if len(content) < 8:
        raise InvalidArtifact("not a safetensors file: shorter than its length field")
    length = int.from_bytes(content[:8], "little")
    if length > min(MAX_HEADER, len(content) - 8):
        raise InvalidArtifact(
            f"not a safetensors file, or a truncated one: it declares a header of {length:,} bytes",
            hint="give the file as a provider sent it; pickled models are never read",
        )
    try:
        header = orjson.loads(content[8 : 8 + length])
    except orjson.JSONDecodeError as e:
        raise InvalidArtifact(f"not a safetensors file: its header is not JSON ({e})") from e
    metadata: Any = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(METADATA_KEY), str):
        raise InvalidArtifact("a safetensors file, but not one of Leakrange: it carries no config")
    try:
        entries = TypeAdapter(dict[str, _Entry]).validate_python(header)
    except ValidationError as e:
        raise InvalidArtifact(f"a tensor of the model file is described wrongly: {first_mistake(e)}") from e
    room = len(content) - 8 - length
    for name, entry in entries.items():
        if entry.data_offsets[1] > room:
            raise InvalidArtifact(f"the model file is truncated: tensor {name!r} ends beyond it")
    return metadata[METADATA_KEY], entries
