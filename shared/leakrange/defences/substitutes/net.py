"""The trained part of PASS: embeddings of samples and of substitutes, the draw of a substitute, and the loss
that they learn by.

L̂ = Σ L̂_S + λ Σ L̂_U + μ L̂_X (Eq. 3; the signs there are a slip: Eqs. 6 and 8 are to be minimised, see Eq.
37). ``log_p`` (B, K) is log P(X' = x'|X = x) of a batch of B samples and all K substitutes; losses are in
nats.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as f
from typing_extensions import override

from leakrange.nets.classifier import Classifier, to_input

__all__ = ["BATCH", "Substitution", "general_loss", "private_loss", "substitution", "useful_loss"]

SMALLEST = 1e-30
"""Lower limit of a probability under a logarithm: less likely ones add nothing to an entropy, and have no
gradient."""


def substitution(embedded: Tensor, substitutes: Tensor, temperature: float) -> Tensor:
    """Eq. 2: log P(X'|X), (B, K), by the cosines of the embeddings f(x) (B, D) and g(x') (K, D)."""
    cosines = f.normalize(embedded, dim=1) @ f.normalize(substitutes, dim=1).T
    return torch.log_softmax(cosines / temperature, dim=1)


def private_loss(log_p: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Eqs. 4 and 5: −H(X'|S) of one private attribute, between −log K and 0.

    labels: (B,) of the batch. P(X'|S = s) is the mean over the samples of that class in the batch, weighed by
    the share of the class in it. A class that is not in the batch weighs nothing: so the mean over batches is
    no less than −H(X'|S), as Theorem 4.1 needs.
    """
    members = f.one_hot(labels, classes).to(log_p.dtype)
    counts = members.sum(dim=0)
    means = (members.T @ log_p.exp()) / counts.clamp_min(1.0).unsqueeze(1)
    entropies = -(means * means.clamp_min(SMALLEST).log()).sum(dim=1)
    return -(counts / len(labels)) @ entropies


def useful_loss(log_p: Tensor, labels: Tensor, substitute_labels: Tensor, classes: int) -> Tensor:
    """Eqs. 6 and 7: log |U| · E[−log P(U' = U|X)] of one useful attribute, 0 or more.

    labels: (B,) of the batch; substitute_labels: (K,), of which each class of ``labels`` needs one at least.
    """
    fits = labels.unsqueeze(1) == substitute_labels.unsqueeze(0)
    log_fit = torch.logsumexp(log_p.masked_fill(~fits, -math.inf), dim=1)
    return -math.log(classes) * log_fit.mean()


def general_loss(log_p: Tensor) -> Tensor:
    """Eq. 8: H(X'|X), the mean entropy of a sample's substitutes, between 0 and log K."""
    return -(log_p.exp() * log_p).sum(dim=1).mean()


BATCH = 256
"""Number of samples that are processed together."""
ONEDNN: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]


class Substitution(nn.Module):
    """P(X'|X) (Eq. 2) by f, a net whose outputs (B, D) are the ``embedding`` of samples, and g, a learned
    embedding (K, D) of each of K substitutes.

    ``substitutes`` (K, *shape) are samples as ``embedding`` takes them, before scaling; ``gammas`` (M, K) are
    the information of each about each private attribute (`bounds.divergences`, nats).
    """

    substitutes: Tensor
    gammas: Tensor

    def __init__(self, embedding: Classifier, count: int, private: int, temperature: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.temperature = temperature
        self.places = nn.Parameter(torch.empty(count, embedding.classes))
        # cosines know no length; vectors of length 1 turn fastest in steps of Adam's size
        nn.init.normal_(self.places, std=embedding.classes**-0.5)
        spec = embedding.spec
        self.register_buffer("substitutes", torch.zeros(count, *spec.shape, dtype=getattr(torch, spec.dtype)))
        self.register_buffer("gammas", torch.zeros(private, count))
        self._directions: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """log P(X'|X) (B, K) of samples as `to_input` gives them."""
        return substitution(self.embedding(x), self.places, self.temperature)

    @override
    def train(self, mode: bool = True) -> Self:
        """See `nn.Module.train`."""
        self._directions = None
        return super().train(mode)

    def directions(self) -> Tensor:
        """(K, D): g scaled to length 1, over the temperature. It is cached in eval mode, and has no gradients
        there.

        On a CPU it is then laid out for oneDNN, whose product is the fastest
        (``leakrange.load.bench.obfuscation``).
        """
        if self._directions is not None:
            return self._directions
        directions = f.normalize(self.places, dim=1) / self.temperature
        if self.training:
            return directions
        directions = directions.detach()
        self._directions = (
            directions.to_mkldnn() if ONEDNN and directions.device.type == "cpu" else directions
        )
        return self._directions

    def scores(self, embedded: Tensor) -> Tensor:
        """log P(X'|X) (B, K) for the result of `embedded`, up to a constant for each sample: cosines over the
        temperature, in float32."""
        directions = self.directions()
        if directions.is_mkldnn:
            return f.linear(embedded.to_mkldnn(), directions).to_dense()
        return f.linear(embedded, directions)

    def embedded(self, samples: NDArray[Any]) -> Tensor:
        """f(x) (B, D) scaled to length 1, of samples (B, *shape) as they are stored."""
        x = to_input(torch.from_numpy(np.array(samples)), self.embedding.spec)
        return f.normalize(self.embedding(x.to(self.places.device)), dim=1)

    def probabilities(self, embedded: Tensor) -> Tensor:
        """P(X'|X) (B, K) for the result of `embedded`."""
        return torch.softmax(self.scores(embedded), dim=1)

    def drawn(self, embedded: Tensor, uniform: Tensor) -> Tensor:
        """The index of a substitute for each row of `embedded`'s result (B, D), by a number of [0, 1) for
        each (B,): its place among the cumulated probabilities."""
        upto = self.probabilities(embedded).cumsum_(dim=1)
        total = upto[:, -1:]
        scaled = uniform.to(total).unsqueeze(1) * total
        # rounding never leads beyond the last substitute that has a weight at all
        scaled = torch.minimum(scaled, torch.nextafter(total, torch.zeros_like(total)))
        return torch.searchsorted(upto, scaled, right=True).squeeze(1)

    def substituted(self, samples: NDArray[Any], uniform: NDArray[np.float64]) -> NDArray[Any]:
        """A substitute (B, *shape) for each of the samples (B, *shape), see `drawn`."""
        indices = np.empty(len(samples), dtype=np.int64)
        with torch.inference_mode():
            for start in range(0, len(samples), BATCH):
                part = slice(start, start + BATCH)
                drawn = self.drawn(self.embedded(samples[part]), torch.from_numpy(uniform[part]))
                indices[part] = drawn.cpu().numpy()
        return self.substitutes.cpu().numpy()[indices]
