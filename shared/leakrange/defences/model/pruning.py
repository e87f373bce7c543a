"""Pruning a downloaded model, without training it again (HBC Section 5.7, Fig. 9)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from leakrange.defences.model import ModelDefence, model_defences
from leakrange.defences.stages import Parameters

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Prune"]


class PruneParameters(Parameters):
    """``amount``: the share of the weights that are set to zero. ``scope``: "global" takes the smallest of
    all layers' together, "layer" that share of each layer's."""

    amount: Annotated[float, Field(gt=0.0, lt=1.0)]
    scope: Literal["layer", "global"] = "global"


@model_defences.register("prune")
class Prune(ModelDefence[PruneParameters]):
    """L1-unstructured: the weights of least magnitude in convolutions and linear layers become zero.

    The paper names torch's "L1-Unstructured" and counts shares of the classifier's parameters, of which half
    can go without much loss: so by default the smallest of all layers go. The same share of each layer
    destroys a convolution of three channels long before. Biases and batch normalisation are left alone. The
    count over all layers (or in each) is ``round(amount · weights)``.
    """

    Parameters: ClassVar[type[Parameters]] = PruneParameters
    summary: ClassVar[str] = "set the smallest weights of the downloaded model to zero before running it"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.7, Fig. 9"
    shorthand: ClassVar[str | None] = "amount"

    def apply(self, classifier: Classifier) -> Classifier:
        """See `ModelDefence.apply`; works on the device that the classifier is on."""
        from torch import nn
        from torch.nn.utils import prune

        pruned = copy.deepcopy(classifier).eval()
        layers = [
            (layer, "weight") for layer in pruned.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))
        ]
        if self.parameters.scope == "global":
            prune.global_unstructured(
                layers, pruning_method=prune.L1Unstructured, amount=self.parameters.amount
            )
        else:
            for layer, name in layers:
                prune.l1_unstructured(layer, name, amount=self.parameters.amount)  # type: ignore[no-untyped-call]
        for layer, name in layers:
            # the mask goes into the weights for good
            prune.remove(layer, name)  # type: ignore[no-untyped-call]
        pruned.requires_grad_(False)
        return pruned
