"""An output defence."""

from __future__ import annotations

from leakrange.defences.output import output_defences
from leakrange.defences.output.base import CLASS_SCORES, Nothing, OutputDefence, ReleaseContext, Values


@output_defences.register("ranks")
class Ranks(OutputDefence[Nothing]):
    """Users are told the order of the classes, and so the same decision, but no score."""

    Parameters = Nothing
    summary = "release the rank of each class in place of its score"
    consumes = CLASS_SCORES
    vectors = True

    def apply(self, values: Values, context: ReleaseContext) -> Values:
        return values.argsort(axis=1).argsort(axis=1).astype(values.dtype)
