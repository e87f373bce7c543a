"""Several classifiers in one: two whose answers are added up (Honest-but-Curious Nets, Section 3.2, Fig. 3),
and many that vote (PATE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from leakrange.nets.classifier import Classifier

__all__ = ["MixtureHead", "VoteHead", "ensemble", "mixture"]

SMALLEST = 1e-12
"""The least entry of a mixture, so that its logarithm is finite; far below the resolution of a decoder or of
a rounded release."""


class SideBySide(nn.Module):
    """Several ``bodies`` on one input: (B, C, H, W) to (B, bodies·features), their features in that order."""

    def __init__(self, bodies: Mapping[str, nn.Module]) -> None:
        super().__init__()
        for name, body in bodies.items():
            self.add_module(name, body)

    def forward(self, x: Tensor) -> Tensor:
        """All feature vectors, joined."""
        return torch.cat([body(x) for body in self.children()], dim=1)


class MixtureHead(nn.Module):
    """Logits (B, Y) whose softmax is the mixture ŷ = β^y·z^y + β^s·z^s of two softmax vectors, β^y = 1 − β^s.

    z^s (B, S), S ≤ Y, is padded with zeros to length Y. ``hard``: both vectors are rounded to one-hot ones
    before they are mixed (Eq. 1); otherwise they stay as they are (the normal mixture). For Y = S = 2 the
    second entry is the paper's scalar ŷ. ``features`` is the length of one feature vector, ``classes`` is S.
    """

    def __init__(
        self, y: nn.Module, s: nn.Module, *, features: int, classes: int, beta_s: float, hard: bool
    ) -> None:
        super().__init__()
        self.y = y
        self.s = s
        self.feature_count = features
        self.classes = classes
        self.beta_s = beta_s
        self.hard = hard

    def parts(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, Y) for y and (B, S) for s of features (B, 2·features), before anything is mixed."""
        y_features, s_features = features[:, : self.feature_count], features[:, self.feature_count :]
        return cast(Tensor, self.y(y_features)), cast(Tensor, self.s(s_features))

    def forward(self, features: Tensor) -> Tensor:
        """The logarithm of the mixture (B, Y), in float32 or finer."""
        y, s = (
            logits.to(torch.promote_types(logits.dtype, torch.float32)) for logits in self.parts(features)
        )
        if self.hard:
            z_y = f.one_hot(y.argmax(dim=1), y.shape[1]).to(y.dtype)
            z_s = f.one_hot(s.argmax(dim=1), s.shape[1]).to(s.dtype)
        else:
            z_y, z_s = y.softmax(dim=1), s.softmax(dim=1)
        mixed = (1.0 - self.beta_s) * z_y + self.beta_s * f.pad(z_s, (0, y.shape[1] - s.shape[1]))
        return mixed.clamp(min=SMALLEST).log()


def mixture(y: Classifier, s: Classifier, *, beta_s: float, hard: bool) -> Classifier:
    """One classifier of ``y``'s classes out of two of the same net; its features are those of both.

    Raises `ValueError` for S > Y, since the release has no room for s, or a β^s that does not lie between 0
    and 1/2: at 1/2 nobody could tell one answer from the other, and above it the greatest entry would be s.
    """
    if s.classes > y.classes:
        raise ValueError(
            f"a mixture of {y.classes} outputs cannot carry an attribute of {s.classes} classes: S must be "
            f"at most Y"
        )
    if not 0.0 < beta_s < 0.5:
        raise ValueError(f"the weight β^s of a mixture lies between 0 and 0.5, not at {beta_s:g}")
    if s.spec != y.spec or s.feature_count != y.feature_count:
        raise ValueError("the two classifiers of a mixture must be of the same net")
    return Classifier(
        SideBySide({"y": y.body, "s": s.body}),
        MixtureHead(y.head, s.head, features=y.feature_count, classes=s.classes, beta_s=beta_s, hard=hard),
        spec=y.spec,
        features=y.feature_count + s.feature_count,
        classes=y.classes,
    )


class VoteHead(nn.Module):
    """Logits (B, Y) whose softmax is the share of the voters that chose each class; a class without a vote
    has `SMALLEST` of it. ``heads`` map the features (B, F) of one voter each to its logits (B, Y)."""

    def __init__(self, heads: Sequence[nn.Module]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)

    def forward(self, features: Tensor) -> Tensor:
        """The logarithm of the shares, of features (B, voters·F). Votes have no gradient: that of the
        voters' mean probabilities stands in for it."""
        logits = [
            head(part) for head, part in zip(self.heads, features.chunk(len(self.heads), 1), strict=True)
        ]
        votes = torch.stack([f.one_hot(each.argmax(dim=1), each.shape[1]) for each in logits])
        shares = votes.float().mean(dim=0).clamp(min=SMALLEST).log()
        if not features.requires_grad:
            return shares
        soft = torch.stack([each.softmax(dim=1) for each in logits]).mean(dim=0).clamp(min=SMALLEST).log()
        return shares + (soft - soft.detach())


def ensemble(voters: Sequence[Classifier]) -> Classifier:
    """One classifier out of many of the same net and the same classes, each of which has one vote; its
    features are those of all."""
    first = voters[0]
    return Classifier(
        SideBySide({str(number): voter.body for number, voter in enumerate(voters)}),
        VoteHead([voter.head for voter in voters]),
        spec=first.spec,
        features=first.feature_count * len(voters),
        classes=first.classes,
    )
