"""Make the answers behind a defence from stored answers that had none. Nobody is asked."""

from __future__ import annotations

from leakrange.jobs.step import Step, steps
from leakrange.wire.digests import digest

__all__ = ["REPLAY", "replay_identity"]


def replay_identity(answers: str, policy: str, draw: int) -> str:
    """Return the identity of a replay of stored ``answers``, behind the policy of that digest."""
    return digest(["replay", answers, policy, draw])


REPLAY = Step("replay", label="replaying answers", rank=60, stored="npy")
steps.register(REPLAY.name, module=__name__)(REPLAY)
