"""Samples in the gradient of a linear first layer, without knowing any loss.

Neuron i of a layer W·x + b gets the gradients Σ δᵢ·x and Σ δᵢ over the samples x, whatever the loss is. So
all rows (ΔWᵢ, Δbᵢ) of an update lie in the span of the (x, 1), however many steps a device took. A row whose
neuron only one sample has activated is a multiple of its (x, 1): its x is ΔWᵢ / Δbᵢ (Phong et al. 2017;
Geiping et al. 2020, Proposition 3.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.updates import Arrays
from leakrange.wire.errors import InvalidInput

__all__ = ["distances_from_span", "moves_of_first_layer", "samples_in_rows"]

SMALLEST = 1e-4
"""Rows whose bias has moved by less than this share of the largest move are rounding errors."""
ALIKE = 1e-2
"""Two rows tell the same sample where their quotients differ by less than this share of their length."""
RIDGE = 1e-6
"""Directions whose share of the largest square is below this are rounding errors."""

Moves = NDArray[np.float64]


def moves_of_first_layer(sent: Arrays, received: Arrays) -> Moves:
    """How far the weights (H, N) and biases (H,) of the first linear layer have moved, side by side
    (H, N + 1). The first layer is that of the first weights by order.

    Raises `InvalidInput` where these are not of a linear layer with biases.
    """
    name = next((each for each in sent if each.endswith("weight")), "")
    bias = name.removesuffix("weight") + "bias"
    if not name or sent[name].ndim != 2 or bias not in sent:
        raise InvalidInput(
            "the extractor does not begin with a linear layer with biases",
            hint="of a convolution's update samples are not read in this way: optimise them",
        )
    weights, biases = (received[each].astype(np.float64) - sent[each] for each in (name, bias))
    return np.concatenate([weights, biases[:, None]], axis=1)


def samples_in_rows(moves: Moves) -> NDArray[np.float64]:
    """Samples (M, N) that at least two rows of ``moves`` (H, N + 1) agree on, each once; samples that more
    rows agree on come first.

    A mixture of several samples differs from row to row, so what two rows agree on is one sample, or several
    in one proportion, from neurons that the same samples activate with gradients in one proportion. One row
    alone tells nothing.
    """
    biases = np.abs(moves[:, -1])
    rows = moves[biases > SMALLEST * biases.max(initial=0.0)]
    quotients = rows[:, :-1] / rows[:, -1:]
    lengths = np.linalg.norm(quotients, axis=1)
    apart = np.linalg.norm(quotients[:, None] - quotients[None], axis=2)
    alike = apart < ALIKE * np.maximum(lengths[:, None], 1e-12)
    samples, left = [], np.ones(len(rows), dtype=bool)
    while left.any():
        counts = (alike & left).sum(axis=1) * left
        most = int(counts.argmax())
        if counts[most] < 2:
            break
        group = alike[most] & left
        samples.append(np.average(quotients[group], axis=0, weights=np.abs(rows[group, -1])))
        left &= ~group
        left[most] = False
    return np.array(samples).reshape(-1, moves.shape[1] - 1)


def distances_from_span(moves: Moves, samples: NDArray[np.floating]) -> NDArray[np.float64]:
    """How much of each (x, 1) lies outside of what ``moves`` (H, N + 1) span, for samples x (S, N): from 0,
    within, to 1. Members of a small update lie within; of an update with as many directions as (x, 1) has,
    all do, in the measure λ·zᵀ(MᵀM + λ)⁻¹z of the unit vectors z in which weak directions count less.

    Where nothing has moved, 1.
    """
    ones = np.concatenate([samples, np.ones((len(samples), 1))], axis=1).astype(np.float64)
    units = ones / np.linalg.norm(ones, axis=1, keepdims=True)
    _, strengths, directions = np.linalg.svd(moves, full_matrices=False)
    largest = strengths.max(initial=0.0)
    if largest == 0.0:
        return np.ones(len(samples))
    squares = (strengths / largest) ** 2
    explained = (units @ directions.T) ** 2 @ (squares / (squares + RIDGE))
    return np.asarray(np.clip(1.0 - explained, 0.0, 1.0))
