"""Fit an attack, or one of its controls, on releases that are stored."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from leakrange.jobs.step import Job, Step, steps
from leakrange.jobs.versions import raised
from leakrange.wire.digests import digest
from leakrange.wire.errors import Conflict
from leakrange.wire.releases import ReleaseKind

__all__ = ["FIT", "AttackJob", "FitJob", "given_evidence"]

Knowledge = Literal["unaware", "aware", "averaging"]


class AttackJob(Job):
    """A job of an attack. ``versions`` are those that the planner's code declares of the attack (see
    `leakrange.jobs.versions.raised`): a stored result of other versions is not used again."""

    attack: str
    versions: dict[str, int] = Field(default_factory=lambda fields: raised(fields["attack"]))

    def check_versions(self) -> None:
        """Raise `Conflict` if the installed code declares other versions of the attack than the job."""
        here = raised(self.attack)
        if self.versions != here:
            raise Conflict(
                f"the attack {self.attack!r} was planned with versions {self.versions}, and those here are "
                f"{here}: bring all parties to one version, and run the scenario again"
            )

    def _digest(self, *left_out: str) -> str:
        """Return the digest of everything but the fields ``left_out``; versions are left out if all are the
        first."""
        first = () if self.versions else ("versions",)
        return digest(self.model_dump(mode="json", exclude={*left_out, *first}))


class FitJob(AttackJob):
    """Fit an attack on releases. Result: arrays by name in one npz under the identity.

    ``evidence`` says what the attack is given: identities of stored releases, and their samples. The kind
    of the attack (`leakrange.attacks.kinds`) defines its form and that of the result.
    """

    kind: Literal["fit"] = "fit"
    parameters: dict[str, Any] = Field(default_factory=dict)
    knowledge: Knowledge = "unaware"
    release: ReleaseKind = "logits"
    evidence: dict[str, Any]
    seed: int = 0

    def identity(self) -> str:
        """Digest of everything that decides the result."""
        return self._digest()


def given_evidence(evidence: BaseModel) -> dict[str, Any]:
    """Return evidence as a job holds it: without fields at their defaults, so that a new field with a default
    renames no stored fit."""
    fields = type(evidence).model_fields.items()
    usual = {
        name
        for name, field in fields
        if not field.is_required() and getattr(evidence, name) == field.get_default(call_default_factory=True)
    }
    return evidence.model_dump(mode="json", exclude=usual)


FIT = Step("fit", label="fitting attacks", rank=70, job=FitJob, stored="npz", gate="fits")
steps.register(FIT.name, module=__name__)(FIT)
