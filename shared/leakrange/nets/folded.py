"""A classifier made ready to serve: the same function with fewer steps."""

from __future__ import annotations

from copy import deepcopy
from typing import Final, TypeVar

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from leakrange.nets.classifier import Classifier
from leakrange.nets.dropout import Dropout

__all__ = ["folded"]

M = TypeVar("M", bound=nn.Module)
IDLE: Final = (nn.Dropout, nn.Identity, Dropout)
"""Layers that do nothing in eval mode."""


def folded(classifier: Classifier) -> Classifier:
    """A copy, in eval mode, whose outputs are those of ``classifier`` to float rounding.

    A batch norm right behind a convolution or a linear layer becomes part of its weights, dropout is left
    out, and the weights of convolutions lie in memory with the channels last, like the samples from
    `to_input`.
    """
    with torch.no_grad():
        short = _fold(deepcopy(classifier).eval())
        short.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return short


def _fold(module: M) -> M:
    for name, child in module.named_children():
        folded = _fold(child)
        setattr(module, name, _shorter(folded) if type(folded) is nn.Sequential else folded)
    return module


def _shorter(layers: nn.Sequential) -> nn.Sequential:
    kept: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, IDLE):
            continue
        if kept and (joined := _joined(kept[-1], layer)) is not None:
            kept[-1] = joined
        else:
            kept.append(layer)
    return nn.Sequential(*kept)


def _joined(layer: nn.Module, norm: nn.Module) -> nn.Module | None:
    """Both layers as one; None where they cannot be joined."""
    if parametrize.is_parametrized(layer) or getattr(norm, "running_mean", None) is None:
        return None
    if type(layer) is nn.Conv2d and type(norm) is nn.BatchNorm2d:
        return fuse_conv_bn_eval(layer, norm)
    if type(layer) is nn.Conv1d and type(norm) is nn.BatchNorm1d:
        return fuse_conv_bn_eval(layer, norm)
    if type(layer) is nn.Linear and type(norm) is nn.BatchNorm1d:
        return fuse_linear_bn_eval(layer, norm)
    return None
