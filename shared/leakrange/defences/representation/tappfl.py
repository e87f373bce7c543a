"""TAPPFL and the rivals whose extractor plays another game: features that hide one attribute, and keep what
else the sample tells, or what a known task needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.data.samples import Names
from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedParameters, FederatedRepresentation

if TYPE_CHECKING:
    from leakrange.defences.games import Game, Sizes

__all__ = ["Adversarial", "Dpfe", "Tappfl", "TappflParameters"]


class TappflParameters(FederatedParameters):
    """``strength``: the paper's λ, from 0 (keep everything) to 1 (only hide)."""

    strength: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    useful: None = None


@representation_defences.register("tappfl")
class Tappfl(FederatedRepresentation[TappflParameters]):
    """The extractor minimises -λ·CE + (1-λ)·JSD: the cross-entropy of an adversary that infers the private
    attribute from the features, and the Jensen-Shannon estimate of the features' information about the
    sample, given the attribute.

    Algorithm 1 prints λ·CE without the minus sign; Equation 7 and the text have the extractor maximise the
    adversary's loss.
    """

    name = "tappfl"
    Parameters = TappflParameters
    summary = "features that hide one attribute and keep what else the sample tells, learned by devices"
    equation = "Equation 7"
    shorthand = None

    @override
    def game(self, sizes: Sizes) -> Game:
        """See `FederatedRepresentation.game`."""
        from leakrange.defences.games import InformationGame

        return InformationGame(sizes, self.parameters.strength, self.parameters.critics)


class TaskParameters(FederatedParameters):
    """``useful``: the attributes of the task, whose labels devices have. ``strength``: the weight of hiding,
    from 0 to 1; the remaining weight is the task's."""

    useful: Names
    strength: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5


@representation_defences.register("adversarial")
class Adversarial(FederatedRepresentation[TaskParameters]):
    """The extractor minimises (1 - λ)·CE of a head for the task - λ·CE of an adversary that infers the
    private attribute. It differs from TAPPFL in what keeps the features useful."""

    name = "adversarial"
    Parameters = TaskParameters
    summary = "features for a known task that an adversary cannot tell the private attribute from"
    equation = "(1 - λ)·CE(task) - λ·CE(private)"
    shorthand = None

    @override
    def game(self, sizes: Sizes) -> Game:
        """See `FederatedRepresentation.game`."""
        from leakrange.defences.games import TaskGame

        return TaskGame(sizes, self.parameters.strength, self.parameters.critics)


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
        from leakrange.defences.games import GaussianGame

        return GaussianGame(sizes, self.parameters.strength, self.parameters.critics)
