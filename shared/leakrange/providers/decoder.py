"""What a curious provider keeps to itself: reading the sensitive attribute from releases."""

from __future__ import annotations

from typing import Literal, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from leakrange.metrics import softmax
from leakrange.nets.decoder import AttackNet
from leakrange.wire.errors import InvalidInput

__all__ = ["SMALLEST", "ArgmaxDecoder", "Decoder", "NetDecoder", "ThresholdDecoder", "VertexDecoder"]

SMALLEST = 1e-6
"""Soft values are held above this where a decoder reads their logarithm."""


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
    """The attack net G of the parameterized attack. Scores: its softmax.

    logarithm: it was trained on the logarithms of soft outputs, and reads those.
    """

    def __init__(
        self, net: AttackNet, release: Literal["logits", "softmax"], *, logarithm: bool = False
    ) -> None:
        self.net = net.eval()
        self.release: str = release
        self.logarithm = logarithm
        self.classes = net.classes

    def infer(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Decoder.infer`."""
        values = _as_kind(_checked(releases, self.net.inputs), kind, self.release)
        if self.logarithm:
            values = np.log(np.maximum(values, SMALLEST))
        values = values.astype(np.float32)
        with torch.inference_mode():
            scores = self.net(torch.from_numpy(values)).softmax(dim=1).numpy()
        return scores.argmax(axis=1).astype(np.int64), cast(NDArray[np.float32], scores)


class VertexDecoder:
    """HBC Section 3.2: both attributes of a mixture, at the nearest (Euclidean) of its Y·S vertices.

    A vertex is β^y·e_y + β^s·e_s in R^Y, β^y = 1 − β^s: what a hard mixture releases. For Y = S = 2 and ŷ
    the second entry of the release the borders between the four vertices are β^s/2, 1/2 and 1 − β^s/2: the
    sub-ranges of Eq. 2 with τ' = β^s/2. Scores: minus the squared distance to the nearest vertex of each s.
    """

    release = "softmax"

    def __init__(self, outputs: int, classes: int, beta_s: float) -> None:
        self.outputs = outputs
        self.classes = classes
        self.beta_s = beta_s

    def infer(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Decoder.infer`."""
        _, inferred, scores = self._nearest(releases, kind)
        return inferred, scores.astype(np.float32)

    def both(self, releases: NDArray[np.floating], kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """y and s (B,), each, of the nearest vertex; raises as `Decoder.infer` does."""
        return self._nearest(releases, kind)[:2]

    def _nearest(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """y, s (B,), and the scores (B, S), in memory of B·Y: with ŷ fixed, only the greatest entry beside s
        and entry s itself can be the nearest vertex's y."""
        soft = _as_kind(_checked(releases, self.outputs), kind, "softmax")
        rows, beta_s = np.arange(len(soft)), self.beta_s
        beta_y = 1.0 - beta_s
        first = soft.argmax(axis=1)
        rest = soft.copy()
        rest[rows, first] = -np.inf
        second = rest.argmax(axis=1)
        s = np.arange(self.classes)
        other = np.where(s == first[:, None], second[:, None], first[:, None])  # best y ≠ s, (B, S)
        # |ŷ − v|² = |ŷ|² + |v|² − 2ŷ·v, where |v|² is greater by 2·β^y·β^s if y = s
        of_other = beta_y * np.take_along_axis(soft, other, axis=1)
        of_same = beta_y * (soft[:, : self.classes] - beta_s)
        gain = np.maximum(of_other, of_same) + beta_s * soft[:, : self.classes]
        scores = 2.0 * gain - (soft**2).sum(axis=1, keepdims=True) - beta_y**2 - beta_s**2
        inferred = scores.argmax(axis=1)
        y = np.where(of_same > of_other, s, other)[rows, inferred]
        return y.astype(np.int64), inferred.astype(np.int64), scores


class ArgmaxDecoder:
    """HBC Section 3.1: s is what the output answers for y, its greatest entry. Scores: the soft output."""

    release = "softmax"

    def __init__(self, outputs: int) -> None:
        self.outputs = self.classes = outputs

    def infer(
        self, releases: NDArray[np.floating], kind: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Decoder.infer`."""
        soft = _as_kind(_checked(releases, self.outputs), kind, "softmax").astype(np.float32)
        return soft.argmax(axis=1).astype(np.int64), soft


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
        return softmax(values)
    return cast(NDArray[np.float64], np.log(np.clip(values, SMALLEST, None)))
