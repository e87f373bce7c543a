"""Reading model files that may come from anywhere: safetensors with a JSON config, judged before anything
is built from them.

Everything that the file claims (config, names, types, shapes, sizes) is checked against the architecture
first; weights are read after that. Nothing in the file is ever run. All failures are `InvalidArtifact`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.torch import load as from_safetensors
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.nets.mixture import mixture
from leakrange.nets.one_logit import with_one_logit
from leakrange.providers.decoder import Decoder, DecoderConfig
from leakrange.providers.decoders import decoders
from leakrange.providers.model_config import ClassifierConfig
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidArtifact

__all__ = ["load_classifier", "load_decoder"]

METADATA_KEY = "leakrange"
MAX_BYTES = 256 * 2**20
MAX_HEADER = 2**20
TYPES = {torch.float32: "F32", torch.int64: "I64"}


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    dtype: Literal["F32", "I64"]
    shape: list[Annotated[int, Field(ge=0)]]
    data_offsets: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]

    @model_validator(mode="after")
    def _size_fits(self) -> _Entry:
        size = 4 if self.dtype == "F32" else 8
        for length in self.shape:
            size *= length
        if self.data_offsets[1] - self.data_offsets[0] != size:
            raise ValueError("data_offsets do not fit the shape")
        return self


class _Uninitialised(TorchFunctionMode):
    """Leave out the random initial weights of nets that are built inside: the file's take their place.

    Drawing them would touch the caller's random generator, and on the meta device cost seconds of imports.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return func(*args, **(kwargs or {}))


def load_classifier(source: bytes | Path) -> tuple[Classifier, ClassifierConfig]:
    """A classifier on the CPU, in eval mode, without gradients, and its config."""
    content = _content(source)
    metadata, entries = _header(content)
    try:
        config = ClassifierConfig.model_validate_json(metadata)
        with torch.device("meta"), _Uninitialised():
            plan = _built(config)
    except ValidationError as e:
        raise InvalidArtifact(f"the config of the model file is not valid: {_first(e)}") from e
    except (UnknownName, ValueError) as e:
        raise InvalidArtifact(f"the config of the model file cannot be built: {e}") from e
    if plan.feature_count != config.features:
        raise InvalidArtifact(f"the config says {config.features} features, its net has {plan.feature_count}")
    weights = _weights(content, entries, plan)
    with _Uninitialised():
        classifier = _built(config)
    classifier.load_state_dict(weights)
    return classifier.eval().requires_grad_(False), config


def load_decoder(source: bytes | Path) -> Decoder:
    """A decoder of any registered kind; one with a net is in eval mode, without gradients."""
    content = _content(source)
    metadata, entries = _header(content)
    try:
        kind = DecoderConfig.model_validate_json(metadata, extra="ignore").kind
        entry = decoders[kind]
        config = entry.Config.model_validate_json(metadata)
    except ValidationError as e:
        raise InvalidArtifact(f"the config of the decoder file is not valid: {_first(e)}") from e
    except UnknownName as e:
        raise InvalidArtifact(f"the config of the decoder file is not valid: kind: {e}") from e
    try:
        with torch.device("meta"), _Uninitialised():
            plan = entry.build(config).module()
    except (UnknownName, ValueError) as e:
        raise InvalidArtifact(f"the config of the decoder file cannot be built: {e}") from e
    if plan is None:
        if entries:
            raise InvalidArtifact(f"a decoder of kind {kind!r} has no tensors, this file has some")
        return entry.build(config)
    weights = _weights(content, entries, plan)
    with _Uninitialised():
        decoder = entry.build(config)
    net = decoder.module()
    assert net is not None
    net.load_state_dict(weights)
    net.eval().requires_grad_(False)
    return decoder


def _built(config: ClassifierConfig) -> Classifier:
    """The net of a config; raises `UnknownName` or `ValueError` where there is no such net."""
    build = nets[config.net].build
    if config.sigmoid:
        return with_one_logit(build(config.input, len(config.classes) // 2, config.width))
    net = build(config.input, len(config.classes), config.width)
    net.heads = config.heads or net.heads
    if (mixed := config.mixture) is None:
        return net
    second = build(config.input, mixed.classes, config.width)
    return mixture(net, second, beta_s=mixed.beta_s, hard=mixed.hard)


def _content(source: bytes | Path) -> bytes:
    if isinstance(source, bytes):
        size = len(source)
    else:
        try:
            size = source.stat().st_size
        except OSError as e:
            raise InvalidArtifact(f"the model file cannot be read: {e}") from e
    if size > MAX_BYTES:
        raise InvalidArtifact(f"a model file of {size:,} bytes; at most {MAX_BYTES:,} are read")
    return source if isinstance(source, bytes) else source.read_bytes()


def _header(content: bytes) -> tuple[str, dict[str, _Entry]]:
    """The config text and the tensors' entries, which lie within the file."""
    if len(content) < 8:
        raise InvalidArtifact("not a safetensors file: shorter than its length field")
    length = int.from_bytes(content[:8], "little")
    if length > min(MAX_HEADER, len(content) - 8):
        raise InvalidArtifact(
            f"not a safetensors file, or a truncated one: it declares a header of {length:,} bytes",
            hint="send the file as GET /v1/models/{model}/artifact gave it; pickled models are never read",
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
        raise InvalidArtifact(f"a tensor of the model file is described wrongly: {_first(e)}") from e
    room = len(content) - 8 - length
    for name, entry in entries.items():
        if entry.data_offsets[1] > room:
            raise InvalidArtifact(f"the model file is truncated: tensor {name!r} ends beyond it")
    return metadata[METADATA_KEY], entries


def _weights(content: bytes, entries: dict[str, _Entry], plan: nn.Module) -> dict[str, Tensor]:
    """The file's tensors, which fit ``plan`` one to one and are finite."""
    wanted = plan.state_dict()
    missing, extra = sorted(wanted.keys() - entries.keys()), sorted(entries.keys() - wanted.keys())
    if missing or extra:
        told = [
            f"{what}: {', '.join(names[:5])}"
            for what, names in (("missing", missing), ("unknown", extra))
            if names
        ]
        raise InvalidArtifact(f"the tensors of the model file do not fit its config; {'; '.join(told)}")
    for name, tensor in wanted.items():
        entry = entries[name]
        if entry.shape != list(tensor.shape) or entry.dtype != TYPES[tensor.dtype]:
            raise InvalidArtifact(
                f"tensor {name!r} of the model file is {entry.dtype} {entry.shape}, "
                f"its config asks for {TYPES[tensor.dtype]} {list(tensor.shape)}"
            )
    try:
        weights = from_safetensors(content)
    except SafetensorError as e:
        raise InvalidArtifact(f"not a valid safetensors file: {e}") from e
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise InvalidArtifact(f"tensor {name!r} of the model file holds values that are not finite")
        if name.endswith("running_var") and (tensor < 0).any():
            raise InvalidArtifact(f"tensor {name!r} of the model file holds negative variances")
    return weights


def _first(error: ValidationError) -> str:
    one = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
