"""What a curious provider keeps to itself: reading the sensitive attribute from releases."""

from __future__ import annotations

from typing import Literal, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from leakrange.nets.decoder import AttackNet
from leakrange.wire.errors import InvalidInput

__all__ = ["Decoder", "NetDecoder", "ThresholdDecoder"]

SMALLEST = 1e-6
"""Soft values are held above this where a decoder that was trained on logits reads their logarithm."""


class Decoder(Protocol):
    """Reads s from releases, whatever defence they went through."""

    release: str
    """The kind that it was trained on."""
    classes: int
    """S, the number of classes of the sensitive attribute."""

    def infer(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Predicted classes (B,) and scores (B, S), higher meaning more likely, of ``releases`` (B, N).

        Where ``kind`` is not what it was trained on, logits are put through softmax, and soft values
        through a logarithm. Raises `InvalidInput` for another kind, another N, or values that are not
        finite.
        """
        ...


class ThresholdDecoder:
    """HBC Eq. 4: s = 0 where the entropy of the soft output is at most τ (nats), else 1. Scores: ±(entropy
    − τ).

    Soft outputs that a defence moved off the simplex are cut at 0 and scaled back to a sum of 1 first; a
    row without any positive value counts as uniform.
    """

    release = "softmax"
    classes = 2

    def __init__(self, tau: float, outputs: int) -> None:
        self.tau = tau
        self.outputs = outputs

    def infer(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Decoder.infer`."""
        soft = _as_kind(_checked(releases, self.outputs), kind, "softmax")
        soft = np.clip(soft, 0.0, None)
        total = soft.sum(axis=1, keepdims=True)
        soft = np.where(total > 0, soft / np.where(total > 0, total, 1.0), 1.0 / self.outputs)
        excess = -(soft * np.log(soft + 1e-16)).sum(axis=1) - self.tau
        return (excess > 0).astype(np.int64), np.stack([-excess, excess], axis=1).astype(np.float32)


class NetDecoder:
    """The attack net G of the parameterized attack. Scores: its softmax."""

    def __init__(self, net: AttackNet, release: Literal["logits", "softmax"]) -> None:
        self.net = net.eval()
        self.release: str = release
        self.classes = net.classes

    def infer(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Decoder.infer`."""
        values = _as_kind(_checked(releases, self.net.inputs), kind, self.release).astype(np.float32)
        with torch.inference_mode():
            scores = self.net(torch.from_numpy(values)).softmax(dim=1).numpy()
        return scores.argmax(axis=1).astype(np.int64), cast(NDArray[np.float32], scores)


def _checked(releases: NDArray[np.floating], outputs: int) -> NDArray[np.float64]:
    if releases.ndim != 2 or releases.shape[1] != outputs:
        raise InvalidInput(f"the decoder reads releases of shape (samples, {outputs}), not {releases.shape}")
    if not np.isfinite(releases).all():
        raise InvalidInput("a release holds values that are not finite")
    return releases.astype(np.float64)


def _as_kind(values: NDArray[np.float64], kind: str, wanted: str) -> NDArray[np.float64]:
    if kind not in ("logits", "softmax"):
        raise InvalidInput(f"the decoder reads logits or softmax, not {kind!r}")
    if kind == wanted:
        return values
    if wanted == "softmax":
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        return cast(NDArray[np.float64], powers / powers.sum(axis=1, keepdims=True))
    return cast(NDArray[np.float64], np.log(np.clip(values, SMALLEST, None)))
