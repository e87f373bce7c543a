"""A model that somebody else serves: nothing is trained, and the proxy asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from leakrange.data.samples import Attribute, names
from leakrange.providers.behaviour import RELEASES, Behaviour, BehaviourParameters, Judgement, Release
from leakrange.providers.behaviours import behaviours
from leakrange.targets.columns import lacking
from leakrange.targets.target import RemoteTarget
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.providers.loop import Lessons

__all__ = ["Remote"]


class RemoteParameters(BehaviourParameters):
    """The attribute that the model answers for, and the ``endpoint``: the content of a target's file."""

    endpoint: RemoteTarget


@behaviours.register("remote")
class Remote(Behaviour):
    """Whoever serves the model trained it, on data that nobody here knows. Its users ask it with their
    samples."""

    summary: ClassVar[str] = "a model that somebody else serves, described by a target's file"
    paper: ClassVar[str] = "none"
    equation: ClassVar[str] = "none: nothing is trained"
    trains: ClassVar[bool] = False
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[BehaviourParameters]] = RemoteParameters

    @classmethod
    def release(cls, parameters: RemoteParameters) -> Any:
        """The release that the target's card declares."""
        return parameters.endpoint.card.release

    @classmethod
    def service(cls, parameters: RemoteParameters) -> ServiceSpec | None:
        """The service that the target's card declares; None where it is a classifier."""
        return parameters.endpoint.card.asked_about_people

    @classmethod
    def check(cls, parameters: RemoteParameters, attributes: Mapping[str, Attribute]) -> None:
        """See `Behaviour.check`; the classes are those of the card, in any order."""
        super().check(parameters, attributes)
        card = parameters.endpoint.card
        [name] = names(parameters.target)
        classes = attributes[name].classes
        if card.release in ("softmax", "logits") and sorted(card.classes) != sorted(classes):
            raise InvalidInput(
                f"{name!r} has the classes {', '.join(classes)}, and the target's card has"
                f" {', '.join(card.classes)}",
                hint="write the same names into the card, in the order of the target's values",
            )

    @classmethod
    def misfit(cls, parameters: RemoteParameters, sample: SampleSpec) -> str | None:
        """The reason why the target does not take samples of a data set; None if it does."""
        given = parameters.endpoint.card.input
        if given.columns and sample.columns and (absent := lacking(given.columns, sample.columns)):
            return (
                f"the card's input has the columns {', '.join(absent)}, which samples of the data lack (an"
                f" attribute is in no sample); they have {', '.join(sample.columns)}"
            )
        taken = given.of_data(sample).spec
        for fact in ("encoding", "shape", "dtype", "columns"):
            if getattr(taken, fact) != getattr(sample, fact):
                return f"the card has the {fact} {getattr(taken, fact)}, the data {getattr(sample, fact)}"
        return None

    @classmethod
    def decisive(cls, parameters: RemoteParameters) -> dict[str, Any]:
        """See `Behaviour.decisive`: neither the target's owner nor its limits."""
        return {"target": parameters.target, "endpoint": parameters.endpoint.digest()}

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Raises `InvalidInput`: nobody here can train it."""
        raise InvalidInput("a remote model is trained by whoever serves it")

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:  # noqa: ARG002
        """Raises `InvalidInput`, as `step`."""
        raise InvalidInput("a remote model is trained by whoever serves it")
