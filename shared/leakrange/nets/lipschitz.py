"""A bound on the distance of two outputs of a net, relative to the distance of their inputs."""

from __future__ import annotations

import torch
from torch import nn

from leakrange.nets.dropout import Dropout

__all__ = ["lipschitz_bound"]

NOT_EXPANDING = (nn.ReLU, nn.Dropout, Dropout, nn.Flatten, nn.Identity)
"""Layers that, in eval mode, never bring two inputs further apart."""


def lipschitz_bound(net: nn.Module) -> float:
    """An upper bound of the Lipschitz constant of ``net`` in eval mode, by Euclidean norms: the product of
    the spectral norms of its linear layers (TAPPFL, Theorem 1, C_L).

    A softmax behind it does not raise it. Raises `ValueError` for a layer without a known bound.
    """
    if isinstance(net, nn.Sequential):
        product = 1.0
        for layer in net:
            product *= lipschitz_bound(layer)
        return product
    if isinstance(net, nn.Linear):
        with torch.no_grad():
            return float(torch.linalg.matrix_norm(net.weight.double(), ord=2))
    if isinstance(net, NOT_EXPANDING):
        return 1.0
    raise ValueError(
        f"no Lipschitz constant of {type(net).__name__} is known; of linear layers and ReLU it is"
    )
