"""Many classifiers, each of a part of the data that no other has seen, that vote (PATE)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from leakrange.providers.behaviour import Behaviour, BehaviourParameters, Judgement, Release, share_equal
from leakrange.providers.behaviours import behaviours
from leakrange.providers.model_config import MOST_VOTERS
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.jobs.recipe import Schedule
    from leakrange.nets.classifier import Classifier
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.loop import Lessons, Trainer
    from leakrange.wire.samples import SampleSpec

__all__ = ["Ensemble"]


class EnsembleParameters(BehaviourParameters):
    """The target attribute, and the number of ``voters``."""

    voters: Annotated[int, Field(ge=2, le=MOST_VOTERS)] = 10


@behaviours.register("honest/ensemble")
class Ensemble(Behaviour):
    """Sample i of the training set teaches voter i modulo ``voters`` and no other. Each voter has one vote,
    and the release says which share of the votes each class has.

    So another sample in place of one changes one vote at most, whoever asks whatever, and noise on the votes
    hides it: the output defence ``noisy-vote`` adds it. Without it, nothing is promised. To hold this, the
    last epoch is kept, since a choice among epochs would look at all voters together.

    The voters share no weight, optimiser or batch. Their model file holds all of them in the open, and with
    it the features and the votes: a promise that is made by noise holds only for those who see the API alone.
    """

    summary: ClassVar[str] = "the votes of classifiers that were trained on disjoint parts of the data"
    paper: ClassVar[str] = "Papernot et al. 2017"
    equation: ClassVar[str] = "Section 2.1 (teachers and their votes)"
    releases: ClassVar[tuple[Release, ...]] = ("softmax", "logits")
    Parameters: ClassVar[type[BehaviourParameters]] = EnsembleParameters
    shadowed: ClassVar[bool] = True

    @classmethod
    def build(
        cls,
        parameters: Any,
        net: Callable[[int], Classifier],
        classes: int,
        sensitive_classes: int,  # noqa: ARG003
    ) -> Classifier:
        """All voters, as one classifier."""
        from leakrange.nets.mixture import ensemble

        return ensemble([net(classes) for _ in range(parameters.voters)])

    def __init__(
        self,
        parameters: Any,
        classifier: Classifier,
        sensitive_classes: int | tuple[int, ...],
        schedule: Schedule,
    ) -> None:
        from torch import nn

        from leakrange.nets.mixture import VoteHead
        from leakrange.nets.optimisers import optimiser

        super().__init__(parameters, classifier, sensitive_classes, schedule)
        if schedule.select == "strangers":
            raise InvalidInput("an ensemble keeps its last epoch", hint="leave 'select: strangers' out")
        assert isinstance(classifier.head, VoteHead)
        parts = zip(classifier.body.children(), classifier.head.heads, strict=True)
        self.voters = [nn.Sequential(*part) for part in parts]
        self.of_voters = [optimiser(voter.parameters(), schedule) for voter in self.voters]
        self.judged = 0

    def trainer(self, lessons: Lessons, spec: SampleSpec, seed: int) -> Trainer:
        """One whose batches are each of one voter's samples. Raises `InvalidInput` where a voter has fewer
        than a batch."""
        import torch

        from leakrange.providers.loop import ByVoter

        voters, batch = len(self.voters), self.schedule.batch
        if len(lessons) // voters < batch:
            raise InvalidInput(
                f"{len(lessons)} training samples make {voters} parts of {len(lessons) // voters}, and a "
                f"batch is of {batch}",
                hint="have fewer voters, smaller batches or more samples",
            )
        numbers = torch.arange(len(lessons), device=lessons.inputs.device) % voters
        return ByVoter.of(self, replace(lessons, sensitive=numbers), spec, self.schedule, seed)

    def optimisers(self) -> Sequence[Optimiser]:
        """One for each voter."""
        return self.of_voters

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:
        """Minimise the cross-entropy of one voter on samples of its own; ``sensitive`` (B,) is its number."""
        import torch

        assert sensitive is not None
        number = int(sensitive[0])
        voter = self.voters[number].train()
        with torch.autocast(samples.device.type, dtype=torch.bfloat16, enabled=self.schedule.bf16):
            logits = voter(samples)
        return self.of_voters[number].descend(self.task.loss(logits.float(), target))

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """The score is the number of the epoch, so that the last one is kept."""
        self.judged += 1
        return Judgement(share_equal(logits.argmax(dim=1), validation.target), None, float(self.judged))
