"""Have a model that nobody serves release outputs: a shadow model's owner needs no access to its folder."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.step import Job, Step, steps
from leakrange.wire.digests import digest
from leakrange.wire.releases import ReleaseKind

__all__ = ["SHOW", "ShowJob"]


class ShowJob(Job):
    """Compute one kind of release of a model for the samples of one span. The model is trained first if
    needed. Result: one array (samples, N) under the identity.

    A job with ``further`` spans shows these as well while it has the model at hand, each under the identity
    of the job that `apart` gives for it.
    """

    kind: Literal["show"] = "show"
    recipe: TrainingRecipe
    release: ReleaseKind
    span: Span
    further: Annotated[tuple[Span, ...], Field(exclude_if=lambda spans: not spans)] = ()

    def apart(self) -> list[ShowJob]:
        """Return the jobs that each show one of the spans."""
        one = self.model_copy(update={"further": ()})
        return [one, *(one.model_copy(update={"span": span}) for span in self.further)]

    def identity(self) -> str:
        """A digest of the recipe's digest, the release and the span, or of all of these."""
        if self.further:
            return digest(["shown together", *(each.identity() for each in self.apart())])
        shown = {"release": self.release, "span": self.span.model_dump(mode="json")}
        return digest(["shown", self.recipe.digest(), shown])


SHOW = Step("show", label="shadow models' outputs", rank=20, job=ShowJob, queue="train", stored="npy")
steps.register(SHOW.name, module=__name__)(SHOW)
