"""Weights of Inception-ResNet-v1 that others have published, as a teacher."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.wire.errors import InvalidArtifact
from leakrange.wire.samples import SampleSpec

__all__ = ["load_published"]

NET = "inception-resnet-v1"
SIZE = 160
HEAD = "logits."
COUNTERS = "num_batches_tracked"


def load_published(path: Path, *, width: float = 1.0) -> Classifier:
    """Load a net for 160×160×3 from a safetensors file in the published naming; on the CPU, in eval mode.

    The naming is that of the weights which the PyTorch community shares: ``conv2d_1a.conv.weight`` to
    ``last_bn.bias``, and ``logits.weight``, ``logits.bias`` for the classes that it was trained on. A pickled
    checkpoint is not read: convert it with ``safetensors.torch.save_file(torch.load(…, weights_only=True),
    …)``. Those weights were trained on (x − 127.5) / 128; ours scale by 127.5, four thousandths more. Raises
    `InvalidArtifact` for a file that is not that.
    """
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidArtifact(
            f"{path} is no safetensors file: {error}",
            hint="convert a checkpoint with safetensors.torch.save_file; pickled models are never read",
        ) from error
    if f"{HEAD}weight" not in weights or weights[f"{HEAD}weight"].ndim != 2:
        raise InvalidArtifact(f"{path} has no {HEAD}weight: it is no Inception-ResNet-v1 with its classes")
    net = nets[NET].build(SampleSpec.picture(SIZE, SIZE, 3), len(weights[f"{HEAD}weight"]), width)
    renamed = {_ours(name): tensor for name, tensor in weights.items()}
    expected = net.state_dict()
    for name in expected:
        if name.endswith(COUNTERS):  # older files lack them, and nothing is computed from them
            renamed.setdefault(name, torch.zeros((), dtype=torch.int64))
    _check(path, renamed, expected)
    net.load_state_dict(renamed)
    return net.eval().requires_grad_(False)


def _ours(name: str) -> str:
    return f"head.{name.removeprefix(HEAD)}" if name.startswith(HEAD) else f"body.{name}"


def _check(path: Path, weights: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    if missing := sorted(expected.keys() ^ weights.keys()):
        raise InvalidArtifact(
            f"{path} is no Inception-ResNet-v1: missing or unknown are {', '.join(missing[:5])}"
        )
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape:
            raise InvalidArtifact(f"{path}: {name} is {list(tensor.shape)}, not {list(expected[name].shape)}")
        if not torch.isfinite(tensor).all():
            raise InvalidArtifact(f"{path}: {name} holds values that are not finite")
