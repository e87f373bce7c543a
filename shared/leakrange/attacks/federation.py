"""What a curious server of a federation reads from the updates that devices send.

It has the parameters that it sent and those that came back, and nothing of the nets that devices keep
(TAPPFL's g and h): it does not know the gradient at the features, and no loss of any sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.updates import Arrays
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = [
    "distances_from_span",
    "feature_drifts",
    "filled",
    "moves_of_first_layer",
    "optimised_samples",
    "relative_errors",
    "samples_in_rows",
]


def filled(sent: Arrays, received: Arrays) -> Arrays:
    """The update with what was ``sent`` wherever exactly 0 was ``received``: as good as no parameter is 0 by
    training, so a device that prunes has not shared it, and its move is unknown."""
    return {name: np.where(array == 0, sent[name], array) for name, array in received.items()}


def relative_errors(
    samples: NDArray[np.floating], drawn: NDArray[np.floating], guess: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The distance of each sample (B, N) from its matched reconstruction, relative to its distance from the
    ``guess`` (N,), such as the mean of a population: 0 is exact, 1 is what anybody can guess.

    Reconstructions ``drawn`` (M, N) are matched one to one, so that distances together are least. A sample
    without a reconstruction, or nearer to the guess than to it, has 1.
    """
    from scipy.optimize import linear_sum_assignment

    guessed = np.linalg.norm(samples - guess, axis=1)
    errors = np.ones(len(samples))
    if len(drawn):
        apart = np.linalg.norm(samples[:, None] - drawn[None], axis=2) / np.maximum(guessed[:, None], 1e-12)
        rows, columns = linear_sum_assignment(np.minimum(apart, 1.0))
        errors[rows] = np.minimum(apart[rows, columns], 1.0)
    return errors


def feature_drifts(
    extractor: nn.Module, sent: Arrays, received: Arrays, samples: NDArray[np.float32]
) -> NDArray[np.float64]:
    """How far an update moves the features of samples (S, ...), as the net takes them, relative to their
    length: ‖f'(x) - f(x)‖ / ‖f(x)‖.

    Attacks on membership follow the loss of a sample, or the cosine of its gradient with the update, from
    round to round (Nasr, Shokri and Houmansadr 2019). A server without the device's nets has neither. To
    first order the features' drift is the update times the features' own gradient, for all losses at once;
    training moves what it has seen the most.
    """
    import torch

    from leakrange.defences.federated import load_arrays

    def features(arrays: Arrays) -> NDArray[np.float64]:
        load_arrays(extractor, arrays)
        extractor.eval()
        with torch.inference_mode():
            return np.asarray(extractor(torch.from_numpy(samples)).numpy(), dtype=np.float64)

    before, after = features(sent), features(received)
    lengths = np.linalg.norm(before, axis=1)
    return np.asarray(np.linalg.norm(after - before, axis=1) / np.maximum(lengths, 1e-12))


SMALLEST = 1e-4
"""Rows whose bias has moved by less than this share of the largest move are rounding errors."""
ALIKE = 1e-2
"""Two rows tell the same sample where their quotients differ by less than this share of their length."""
RIDGE = 1e-6
"""Directions whose share of the largest square is below this are rounding errors."""

Moves = NDArray[np.float64]
"""How far the weights and the bias of each neuron of a linear first layer have moved, a row for each.

Neuron i of a layer W·x + b gets the gradients Σ δᵢ·x and Σ δᵢ over the samples x, whatever the loss is. So
all rows (ΔWᵢ, Δbᵢ) of an update lie in the span of the (x, 1), however many steps a device took. A row whose
neuron only one sample has activated is a multiple of its (x, 1): its x is ΔWᵢ / Δbᵢ (Phong et al. 2017;
Geiping et al. 2020, Proposition 3.1).
"""


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


STEPS = 1000
RATE = 0.05


def optimised_samples(
    extractor: nn.Module,
    sent: Arrays,
    received: Arrays,
    start: NDArray[np.float32],
    seed: int = 0,
    steps: int = STEPS,
    searches: int = 1,
) -> tuple[NDArray[np.float32], float]:
    """Dummy samples (B, ...), as the net takes them, whose gradient points where the update does; and the
    cosine of both, 1 at best.

    Inverting Gradients (Geiping et al. 2020) compares directions of gradients. The server of a federation
    with private nets cannot compute a device's gradient even from the right samples: the gradient at the
    features depends on nets that it does not have. So the search includes that gradient, like the labels in
    Deep Leakage from Gradients (Zhu, Liu and Han 2019).

    ``extractor`` is the net of the parameters; it gets those that were ``sent``. ``start`` (B, ...) is where
    each search begins, and says how many samples there are, e.g. some of the server's own; of ``searches``
    with other gradients at the features the best one counts. The whole update is taken for one step, although
    a device may have made several. B samples with their gradients at the features have to be fewer numbers
    than the parameters: else many fit as well.
    """
    import torch

    from leakrange.defences.federated import load_arrays

    load_arrays(extractor, sent)
    extractor.train()
    parameters = dict(extractor.named_parameters())
    wanted = [torch.from_numpy(np.asarray(sent[name] - received[name])) for name in parameters]
    length = torch.sqrt(_product(wanted, wanted))
    draw = torch.Generator().manual_seed(seed)
    best, best_dummies = -2.0, torch.tensor(start, dtype=torch.float32)
    for step in range(searches * steps):
        if step % steps == 0:
            dummies = torch.tensor(start, dtype=torch.float32).requires_grad_()
            pulls = torch.randn(extractor(dummies).shape, generator=draw).requires_grad_()
            optimiser = torch.optim.Adam([dummies, pulls], lr=RATE)
        gradients = torch.autograd.grad(
            (extractor(dummies) * pulls).sum(), list(parameters.values()), create_graph=True
        )
        cosine = _product(gradients, wanted) / (length * torch.sqrt(_product(gradients, gradients)) + 1e-12)
        if (reached := float(cosine.detach())) > best:
            best, best_dummies = reached, dummies.detach().clone()
        dummies.grad, pulls.grad = torch.autograd.grad(-cosine, [dummies, pulls])
        optimiser.step()
    return best_dummies.numpy(), best


def _product(one: Any, other: Any) -> Tensor:
    import torch

    return torch.stack([(a * b).sum() for a, b in zip(one, other, strict=True)]).sum()
