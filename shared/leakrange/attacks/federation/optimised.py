"""Reconstruction by optimisation: dummy samples whose gradient points where the update does.

Inverting Gradients (Geiping et al. 2020) compares directions of gradients. The server of a federation with
private nets cannot compute a device's gradient even from the right samples: the gradient at the features
depends on nets that it does not have. So the search includes that gradient, like the labels in Deep Leakage
from Gradients (Zhu, Liu and Han 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.updates import Arrays

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["optimised_samples"]

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
    """Samples (B, ...) as the net takes them, and the cosine of their gradient with the update's, 1 at best.

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
