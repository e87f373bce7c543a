"""The base of output defences, the context of a release, and the registry of all of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.defences.output.room import Room
from leakrange.defences.stages import Defence, Nothing, P, Parameters
from leakrange.registry import Registry
from leakrange.wire.releases import ReleaseKind

__all__ = [
    "Nothing",
    "OutputDefence",
    "Parameters",
    "Release",
    "ReleaseContext",
    "Room",
    "Values",
    "output_defences",
]

Release = ReleaseKind
Values = NDArray[np.float64]
"""Releases of a batch: (B, ...), one axis or more for each sample; a vector is (B, N)."""

ANY_RELEASE: frozenset[Release] = frozenset({"logits", "softmax", "features", "score", "sample"})
CLASS_SCORES: frozenset[Release] = frozenset({"logits", "softmax"})


@dataclass(slots=True)
class ReleaseContext:
    """Facts that a defence may know beside the values.

    release: the kind; each stage gets the kind that the stages before it have made. draw: source of fresh
    noise. sticky_key: a secret of whoever runs the defence. digests: one per sample, naming the *query*
    (model, endpoint, canonical input), so that the same query gets the same sticky noise wherever it stands
    in a batch. stage: the place in the policy, set by the chain; it keeps two noises apart. heads: the
    numbers of classes of a model that answers for several attributes.
    """

    release: Release
    draw: np.random.Generator = field(default_factory=np.random.default_rng)
    sticky_key: bytes = b""
    digests: Sequence[bytes] | None = None
    stage: bytes = b""
    heads: Sequence[int] = ()


class OutputDefence(Defence[P]):
    """A transform of releases. Subclasses set the class variables and register themselves in
    `output_defences`.
    """

    consumes: ClassVar[frozenset[Release]] = ANY_RELEASE
    """The kinds of release that it takes; a policy refuses the others."""
    vectors: ClassVar[bool] = False
    """Whether it takes only vectors, and not releases of any rank."""
    by_head: ClassVar[bool] = False
    """Whether it compares class scores, so that it works on those of each attribute by themselves."""

    @property
    def needs_digests(self) -> bool:
        """Whether `ReleaseContext.digests` and ``sticky_key`` must be given."""
        return False

    @property
    def hides_confidence(self) -> bool:
        """Whether it means to hide how sure the model is and keeps the decision, so that attacks which read
        labels alone are the ones to judge it by."""
        return False

    @property
    def price(self) -> float:
        """The ρ ≥ 0 of one answer, if each answer that it makes of a provider's own release is ρ-zCDP (Bun
        and Steinke 2016) for replacing one training record; infinite where it promises nothing of these."""
        return math.inf

    @abstractmethod
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """Transform finite values (B, ...) into finite ones of the same shape, unless the defence says
        otherwise."""

    def makes(self, release: Release) -> Release:
        """The kind of the values after it: for example probabilities, where it makes them of logits. Every
        later stage takes them as that."""
        return release

    def room(self, before: Room, release: Release) -> Room:  # noqa: ARG002 - subclasses may need it
        """Knowledge of one sample's values after this stage, from that before it; with several attributes, of
        one attribute's class scores.

        A stage can add nothing to what the values carry. Override this where the stage takes something away,
        or leaves the values within bounds.
        """
        return before.unknown


output_defences: Registry[type[OutputDefence[Any]]] = Registry("output defence", "leakrange.defences.output")
