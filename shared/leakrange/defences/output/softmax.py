"""Release of probabilities in the place of logits."""

from __future__ import annotations

from typing_extensions import override

from leakrange.defences.output.base import (
    CLASS_SCORES,
    Nothing,
    OutputDefence,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)
from leakrange.metrics import softmax

__all__ = ["Softmax"]


@output_defences.register("softmax")
class Softmax(OutputDefence[Nothing]):
    """Logits become probabilities, which takes one number away: their common level. Those of two classes
    whose first logit is 0 lose nothing. A softmax does not change.

    The release keeps its name: whoever reads logits there reads other numbers than before. Later stages take
    them as probabilities (`makes`).
    """

    Parameters = Nothing
    summary = "put logits through a softmax"
    consumes = CLASS_SCORES
    vectors = True
    by_head = True

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N)."""
        return softmax(values) if context.release == "logits" else values

    @override
    def makes(self, release: Release) -> Release:
        """Probabilities."""
        return "softmax"

    @override
    def room(self, before: Room, release: Release) -> Room:
        """Probabilities."""
        return before.as_probabilities if release == "logits" else before
