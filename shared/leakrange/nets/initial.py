"""Initial weights that keep the size of signals from layer to layer."""

from __future__ import annotations

from torch import nn

__all__ = ["he_normal"]


def he_normal(body: nn.Module) -> nn.Module:
    """Draw the weights of all convolutions and linear layers anew, from N(0, 2 / inputs) (He et al. 2015);
    biases become 0. Gives ``body``.

    With torch's own weights the signal shrinks at each layer with ReLU. Devices that learn an extractor in a
    few rounds would begin with features too small to be learned from.
    """
    for layer in body.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return body
