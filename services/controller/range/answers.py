"""The answers to a probe, as far as they came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from leakrange.wire.errors import LeakrangeError

__all__ = ["Answers", "NotReached", "needed"]


class NotReached(LeakrangeError):
    """A limit refused further answers for good before a trial had all that it needs."""

    slug, title = "not-reached", "A limit refused further answers"


@dataclass(frozen=True)
class Answers:
    """The identities of stored answers, request by request, and behind which sample each request ``stops``.
    ``refused`` names the limit that gave no more for good; it is empty where all answers came."""

    identities: list[str]
    stops: list[int] = field(default_factory=list)
    refused: str = ""

    def first(self, samples: int) -> list[str]:
        """The identities that hold the answers to the first ``samples`` samples. Raises `NotReached`."""
        if self.refused:
            reached = self.stops[-1] if self.stops else 0
            if samples > reached:
                raise NotReached(
                    f"{self.refused} refused after {reached:,} answers, and this budget takes {samples:,}"
                )
        starts = [0, *self.stops]
        return [name for name, start in zip(self.identities, starts, strict=False) if start < samples]


def needed(answers: Mapping[str, Answers], samples: Mapping[str, int]) -> dict[str, list[str]]:
    """The identities of the answers, by probe; if some were refused to any probe, only those that are needed
    for that many ``samples``. Raises `NotReached`."""
    if not any(each.refused for each in answers.values()):
        return {name: each.identities for name, each in answers.items()}
    return {name: each.first(samples[name]) for name, each in answers.items()}
