"""Representation defences whose extractor a federation trains.

**One file makes one of them.** It registers a subclass of `FederatedRepresentation` in
`representation_defences`, with

- ``Parameters``, a subclass of `FederatedParameters`;
- ``game``: the nets that a device trains with the extractor and keeps to itself, and the loss of each
  (`leakrange.defences.games.Game`);
- ``sent``: the device's change of the extractor before it sends it; by default none;
- ``accounted``: the proven privacy of that; by default none.

As in all registered files, torch is imported inside the functions that use it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from leakrange.data.samples import Attribute
from leakrange.defences.representation import RepresentationDefence
from leakrange.defences.trained import DefenceConfig, Trained, TrainedParameters
from leakrange.federation.settings import CriticSize, Dirichlet, Federation
from leakrange.federation.updates import Arrays
from leakrange.jobs.recipe import OptimiserSpec, Schedule
from leakrange.nets import nets
from leakrange.wire.errors import Conflict, InvalidInput
from leakrange.wire.samples import Purpose

if TYPE_CHECKING:
    from torch import nn

    from leakrange.defences.games import Game, Sizes
    from leakrange.nets.classifier import Classifier

__all__ = ["FederatedParameters", "FederatedRepresentation"]


class FederatedParameters(TrainedParameters):
    """``private``: the attribute to hide; ``useful``: those of the task, which only task-specific defences
    know. ``net`` is the architecture whose body is the extractor. ``batch`` and ``lr`` are a device's; it
    trains by plain gradient descent. ``critics``: the nets that a device keeps, "paper" as in TAPPFL's Table
    3, or "small" ones for a CPU. ``federation`` sets the participants and the rounds."""

    private: str
    batch: Annotated[int, Field(ge=8, le=4096)] = 10
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    critics: CriticSize = "small"
    federation: Federation = Federation()


T = TypeVar("T", bound=FederatedParameters)


class FederatedRepresentation(Trained[T], RepresentationDefence[T]):
    """A representation defence with an extractor that devices have trained together. See the module's
    docstring for how to write one."""

    paper: ClassVar[str] = "TAPPFL"
    version: ClassVar[int] = 2
    purpose: ClassVar[Purpose] = "federation"

    @abstractmethod
    def game(self, sizes: Sizes) -> Game:
        """The nets of one device beside the extractor, with fresh weights. Draws from torch's generator."""

    def sent(self, sent: Arrays, trained: Arrays, draw: np.random.Generator) -> Arrays:  # noqa: ARG002
        """The parameters that a device sends, after it was ``sent`` the first ones and has ``trained`` them.
        All randomness is from ``draw``."""
        return trained

    def accounted(
        self,
        samples: Sequence[int],  # noqa: ARG002
        turns: Sequence[int],  # noqa: ARG002
        accepted: Sequence[int],  # noqa: ARG002
    ) -> dict[str, Any]:
        """The proven privacy of what devices sent; empty where nothing is proven.

        ``samples`` are the numbers of samples of each device, ``turns`` the rounds in which each took part,
        ``accepted`` the updates that counted in each past round.
        """
        return {}

    @override
    def check(self, attributes: Mapping[str, Attribute]) -> None:
        """See `Trained.check`; the attribute by which devices differ has to exist as well."""
        super().check(attributes)
        split = self.parameters.federation.split
        if isinstance(split, Dirichlet) and split.by not in attributes:
            raise InvalidInput(f"no attribute {split.by!r}; there are: {', '.join(sorted(attributes))}")

    @override
    def schedule(self) -> Schedule:
        """Plain gradient descent; an epoch is one round of the federation."""
        parameters = self.parameters
        return Schedule(
            epochs=parameters.federation.all_rounds,
            batch=parameters.batch,
            lr=parameters.lr,
            optimiser=OptimiserSpec(name="sgd"),
            select="last",
        )

    @classmethod
    @override
    def build(cls, parameters: Any, config: DefenceConfig) -> nn.Module:
        """The body of the net, with fresh weights."""
        built = nets[config.net.name].build(config.input, 2, config.net.width)
        if config.size.get("features", built.feature_count) != built.feature_count:
            raise ValueError(
                f"the config says {config.size['features']} features, its net has {built.feature_count}"
            )
        return built.body

    @override
    def apply(self, classifier: Classifier) -> Classifier:
        """See `RepresentationDefence.apply`. Raises `Conflict` before it is bound."""
        from leakrange.nets.classifier import Classifier

        if self._module is None or self._config is None:
            raise Conflict(
                f"{self.name} has no trained extractor",
                hint="bind the chain to its artifacts before it is applied",
            )
        features = self._config.size["features"]
        if self._config.input != classifier.spec or features != classifier.feature_count:
            raise InvalidInput(
                f"{self.name} makes {features} features of a {self._config.input.encoding} of shape "
                f"{self._config.input.shape}; the model decides on {classifier.feature_count} features of a "
                f"{classifier.spec.encoding} of shape {classifier.spec.shape}",
                hint="the provider trains its model on this extractor's features: run the scenario again",
            )
        hardened = Classifier(
            self._module,
            classifier.head,
            spec=classifier.spec,
            features=features,
            classes=classifier.classes,
        )
        hardened.heads = classifier.heads
        return hardened.eval()
