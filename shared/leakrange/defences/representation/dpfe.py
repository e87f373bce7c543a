"""DPFE (Osia et al. 2018): features for a known task whose variances do not depend on a private attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedRepresentation
from leakrange.defences.representation.task_specific import TaskParameters

if TYPE_CHECKING:
    from leakrange.defences.games.game import Game, Sizes

__all__ = ["Dpfe", "DpfeParameters"]


class DpfeParameters(TaskParameters):
    """``batch`` is larger than elsewhere: each class of the private attribute needs several samples in it."""

    batch: Annotated[int, Field(ge=8, le=4096)] = 50


@representation_defences.register("dpfe")
class Dpfe(FederatedRepresentation[DpfeParameters]):
    """The extractor minimises (1 - λ)·CE + λ·I: the cross-entropy of a head for the task, and an estimate of
    the features' information about the private attribute, as if they were Gaussian.

    DPFE trains one encoder on all data. Here devices do, each on its own samples, as in TAPPFL's comparison.
    """

    name = "dpfe"
    Parameters = DpfeParameters
    summary = "features for a known task whose variances do not tell the private attribute"
    equation = "I(r; u) = ½·Σ log var(r) - Σ_u p(u)·½·Σ log var(r|u)"
    shorthand = None

    @override
    def game(self, sizes: Sizes) -> Game:
        """See `FederatedRepresentation.game`."""
        from leakrange.defences.games.gaussian import GaussianGame

        return GaussianGame(sizes, self.parameters.strength, self.parameters.critics)
