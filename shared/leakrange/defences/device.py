"""Chains as scenarios and edge clients have them: first what is done to the model, then what is done to its
outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leakrange.defences.model import ModelDefence, model_defences
from leakrange.defences.output import Chain, OutputDefence, output_defences
from leakrange.defences.output.chain import MAX_STAGES
from leakrange.defences.stages import InvalidChain, kind_of, mistake, name_of, read_stage
from leakrange.registry import unknown
from leakrange.wire.digests import digest

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["DeviceChain"]


NO_CHAIN = Chain()


@dataclass(frozen=True)
class DeviceChain:
    """Model defences, which only a device that runs the model can apply, and then output defences.

    Where the outputs' part runs is for the chain's owner to say: that of a scenario's defence is the proxy's
    policy, that of an edge client's own chain runs on the device, too.
    """

    model: tuple[tuple[str, ModelDefence[Any]], ...] = ()
    outputs: Chain = NO_CHAIN

    @classmethod
    def parse(cls, spec: Any) -> DeviceChain:
        """Read a list as `Chain.parse` does, with model defences before all output defences.

        E.g. ``[{prune: {amount: 0.5}}, {round: 1}]``. Raises `InvalidChain` with every mistake.
        """
        if not isinstance(spec, list):
            raise InvalidChain([mistake([], f"a chain is a list of defences, not {kind_of(spec)}")])
        mistakes: list[dict[str, Any]] = []
        if len(spec) > MAX_STAGES:
            mistakes.append(mistake([], f"at most {MAX_STAGES} defences in a chain, not {len(spec)}"))
        model: list[tuple[str, ModelDefence[Any]]] = []
        outputs: list[tuple[str, OutputDefence[Any]]] = []
        before = None
        for index, item in enumerate(spec):
            name = name_of(item)
            if name in model_defences:
                if before is not None:
                    said = f"{name} changes the model, before there are outputs: put it before {before!r}"
                    mistakes.append(mistake([index], said))
                if changed := read_stage(item, index, model_defences, mistakes):
                    model.append(changed)
            elif name is not None and name not in output_defences:
                known = sorted([*model_defences, *output_defences])
                said = unknown("defence", name, model_defences, output_defences)
                mistakes.append(mistake([index], said, known))
            else:
                before = name or before
                if transformed := read_stage(item, index, output_defences, mistakes):
                    outputs.append(transformed)
        if mistakes:
            raise InvalidChain(mistakes)
        return cls(tuple(model), Chain(tuple(outputs)))

    def __bool__(self) -> bool:
        return bool(self.model or self.outputs.stages)

    def model_spec(self) -> list[dict[str, Any]]:
        """The canonical form of what is done to the model."""
        return [
            {name: stage.parameters.model_dump(mode="json", exclude_none=True)} for name, stage in self.model
        ]

    def spec(self) -> list[dict[str, Any]]:
        """The canonical form of the whole, which `parse` reads."""
        return self.model_spec() + self.outputs.spec()

    def digest(self) -> str:
        """The chain's identity (SHA-256, hex); without model defences that of its outputs' part."""
        return digest(self.spec())

    def harden(self, classifier: Classifier) -> Classifier:
        """The classifier as this device runs it: itself where nothing is done to it, else a changed copy."""
        for _, stage in self.model:
            classifier = stage.apply(classifier)
        return classifier
