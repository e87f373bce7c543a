"""Hand in the outputs of a student's own model, as a user's device uploads those of the provider's."""

from __future__ import annotations

from leakrange.jobs.step import Step, steps
from leakrange.wire.digests import digest

__all__ = ["HAND_IN", "hand_in_identity"]


def hand_in_identity(student: str, policy: str) -> str:
    """Return the identity of a student's hand-in, from the fit that made the outputs and the digest of the
    defence that the proxy applied."""
    return digest(["student", student, policy])


HAND_IN = Step("hand-in", label="students' uploads", rank=80, stored="npz", gate="sessions")
steps.register(HAND_IN.name, module=__name__)(HAND_IN)
