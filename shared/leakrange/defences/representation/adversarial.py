"""Adversarial training (Li et al. 2020a): features for a known task that tell an adversary little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedRepresentation
from leakrange.defences.representation.task_specific import TaskParameters

if TYPE_CHECKING:
    from leakrange.defences.games.game import Game, Sizes

__all__ = ["Adversarial"]


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
        from leakrange.defences.games.task import TaskGame

        return TaskGame(sizes, self.parameters.strength, self.parameters.critics)
