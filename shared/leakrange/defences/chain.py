"""Chains of defences of all stages, as in scenarios and on edge clients; each stage runs at its site. Also
the questions of a probe, as a device's chain leaves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data import load
from leakrange.data.spans import Crafted, samples_of
from leakrange.defences.input import InputDefence, input_defences
from leakrange.defences.model import ModelDefence, model_defences
from leakrange.defences.output import Chain, Release, output_defences
from leakrange.defences.representation import RepresentationDefence, representation_defences
from leakrange.defences.stages import (
    Defence,
    InvalidChain,
    canonical,
    mistake,
    name_of,
    read_stage,
    whole_mistakes,
)
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.registry import Registry, unknown
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["STAGES", "DefenceChain", "Site", "questions"]

Site = Literal["device", "proxy"]
"""Where a stage runs."""

STAGES: Mapping[str, Registry[Any]] = {
    "input": input_defences,
    "model": model_defences,
    "representation": representation_defences,
    "output": output_defences,
}
"""The stages in their order, each with its registry."""
NO_CHAIN = Chain()


@dataclass(frozen=True)
class DefenceChain:
    """Input defences, model defences, at most one representation defence, and output defences.

    The user's device runs all but the last, since nobody else has its samples and its copy of the model.
    Output defences run at ``outputs_at``: in a scenario they are the proxy's policy, and in an edge client's
    own chain they run on the device.
    """

    inputs: tuple[tuple[str, InputDefence[Any]], ...] = ()
    model: tuple[tuple[str, ModelDefence[Any]], ...] = ()
    representation: tuple[tuple[str, RepresentationDefence[Any]], ...] = ()
    outputs: Chain = NO_CHAIN
    outputs_at: Site = "proxy"

    @classmethod
    def parse(cls, spec: Any, *, outputs_at: Site = "proxy") -> DefenceChain:
        """Read a list as `Chain.parse` does, with the stages in their order.

        E.g. ``[{gaussian-input: 0.2}, {prune: {amount: 0.5}}, {round: 1}]``. Raises `InvalidChain` with every
        mistake.
        """
        mistakes = whole_mistakes(spec)
        order = list(STAGES)
        links: dict[str, list[tuple[str, Any]]] = {stage: [] for stage in order}
        first: dict[str, str] = {}
        for index, item in enumerate(spec):
            name = name_of(item)
            stage = next((stage for stage in order if name in STAGES[stage]), None)
            if name is not None and stage is None:
                known = sorted(name for registry in STAGES.values() for name in registry)
                mistakes.append(mistake([index], unknown("defence", name, *STAGES.values()), known))
                continue
            stage = stage or order[-1]  # for an item that is no defence at all, read_stage explains the form
            for later in order[order.index(stage) + 1 :]:
                if later in first:
                    reason = f"{name} is of the {stage} stage, which is before the {later} stage"
                    mistakes.append(mistake([index], f"{reason}: put it before {first[later]!r}"))
                    break
            first.setdefault(stage, str(name))
            if link := read_stage(item, index, STAGES[stage], mistakes):
                links[stage].append(link)
        inputs, model, representation, outputs = (tuple(links[stage]) for stage in order)
        if representation and (len(representation) > 1 or model):
            body = representation[-1][0]
            other = (model or representation)[0][0]
            reason = f"{body} puts a body of its own into the model, and undoes {other!r}: leave one out"
            mistakes.append(mistake([], reason))
        if mistakes:
            raise InvalidChain(mistakes)
        return cls(inputs, model, representation, Chain(outputs), outputs_at)

    def __bool__(self) -> bool:
        return bool(self.inputs or self.changes_model or self.outputs.stages)

    @property
    def changes_model(self) -> bool:
        """Whether the device runs another model than the one that it downloaded."""
        return bool(self.model or self.representation)

    @property
    def policy(self) -> Chain:
        """The part that the proxy runs."""
        return self.outputs if self.outputs_at == "proxy" else NO_CHAIN

    @cached_property
    def on_device(self) -> DefenceChain:
        """The part that the device runs."""
        return replace(self, outputs=self.outputs if self.outputs_at == "device" else NO_CHAIN)

    def then(self, other: DefenceChain) -> DefenceChain:
        """Both chains as one, stage by stage: this one's defences of a stage before the other's."""
        return replace(
            self,
            inputs=self.inputs + other.inputs,
            model=self.model + other.model,
            representation=self.representation + other.representation,
            outputs=Chain((*self.outputs.stages, *other.outputs.stages)),
        )

    @cached_property
    def deterministic(self) -> bool:
        """Whether the same sample gives the same release every time."""
        links = (*self.inputs, *self.model, *self.representation, *self.outputs.stages)
        return all(link.deterministic for _, link in links)

    def refuse(self, release: Release) -> str | None:
        """The reason that the chain cannot stand before releases of that kind, or None when it can."""
        if release == "sample" and self.model:
            return f"{self.model[0][0]} changes a model that no device runs which sends samples"
        if release != "features" and self.representation:
            return (
                f"{self.representation[0][0]} makes features, not {release}: let the provider release these"
            )
        return self.outputs.refuse(release)

    def input_spec(self) -> list[dict[str, Any]]:
        """The canonical form of the input defences."""
        return canonical(self.inputs)

    def model_spec(self) -> list[dict[str, Any]]:
        """The canonical form of the changes to the model: model and representation defences."""
        return canonical(self.model) + canonical(self.representation)

    def spec(self) -> list[dict[str, Any]]:
        """The canonical form of the whole chain, which `parse` reads."""
        return self.input_spec() + self.model_spec() + self.outputs.spec()

    def digest(self) -> str:
        """The chain's identity (SHA-256, hex); a chain of output defences alone has that of its policy."""
        return digest(self.spec())

    def planned(self, data: DataSpec, seed: int) -> tuple[DefenceChain, tuple[TrainingRecipe, ...]]:
        """Name the artifacts that have to be trained on ``data`` in the chain's links, and list the recipes
        of these. A link that already names its artifact keeps it, and has no recipe here."""
        chain = self._with(lambda link: link.planned(data, seed))
        recipes = (link.recipe(data, seed) for link in self._trained() if link.artifact is None)
        return chain, tuple(recipe for recipe in recipes if recipe is not None)

    @property
    def artifacts(self) -> tuple[str, ...]:
        """The digests of the artifacts of its planned links, each once."""
        named = (link.artifact for link in self._trained())
        return tuple(dict.fromkeys(digest for digest in named if digest is not None))

    @property
    def extractor(self) -> str | None:
        """The digest of the extractor that makes a planned chain's features; None without one."""
        return self.representation[0][1].artifact if self.representation else None

    def bound(self, load: Callable[[str], bytes], key: bytes = b"") -> DefenceChain:
        """Load the artifact of each link, so that the chain can be applied. ``load`` gives the file of a
        digest.

        ``key`` is a secret of whoever applies the chain, for links that draw by a keyed hash. The chain's
        identity does not change. Raises as the links do, see `leakrange.defences.trained`.
        """
        return self._with(lambda link: link.bound(load, key))

    def _trained(self) -> list[Defence[Any]]:
        """The links of the stages that may have something trained."""
        return [link for _, link in (*self.inputs, *self.representation)]

    def _with(self, change: Callable[[Any], Any]) -> DefenceChain:
        """The chain with these links changed."""
        return replace(
            self,
            inputs=tuple((name, change(link)) for name, link in self.inputs),
            representation=tuple((name, change(link)) for name, link in self.representation),
        )

    def obfuscate(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """Apply the input stage to samples (B, *shape) of ``spec``; dtype and shape do not change. Raises
        `InvalidInput` where a link does not take them."""
        for name, link in self.inputs:
            if reason := link.misfit(spec):
                raise InvalidInput(f"{name}: {reason}", hint="other input defences take samples of all kinds")
            samples = link.apply(samples, spec, draw)
        return samples

    def harden(self, classifier: Classifier) -> Classifier:
        """The classifier as this device runs it: a changed copy, or itself where the chain does not change
        it."""
        for _, changed in self.model:
            classifier = changed.apply(classifier)
        for _, extractor in self.representation:
            classifier = extractor.apply(classifier)
        return classifier


def questions(job: ProbeJob, chain: DefenceChain, crafted: Crafted | None = None) -> NDArray[Any]:
    """The samples (B, …) of a chunk, or its pairs (B, 2, …), with the input defences of ``chain`` applied.
    ``crafted`` reads samples that were crafted. The same job gives the same ones each time. Raises
    `InvalidInput` for a span beyond its split."""
    samples = samples_of(job.span, crafted)
    if job.pairs is not None:
        samples = samples[np.array(job.pairs)]
    draw = np.random.default_rng(int(job.identity(), 16))
    return np.ascontiguousarray(chain.obfuscate(samples, load(job.span.data).spec, draw))
