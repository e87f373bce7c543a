"""The providers of a run as a picture shows them: each by itself, or where they are many, by behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from services.controller.live.state import Model, Provider, RunState

__all__ = ["MOST", "Box", "boxes"]

MOST = 12
"""So many providers have a place each."""


@dataclass(frozen=True)
class Box:
    """One place in the picture: a provider, or all that play the same."""

    name: str
    plays: str
    providers: list[Provider]

    @property
    def models(self) -> list[Model]:
        """All their models."""
        return [each for provider in self.providers for each in provider.models.values()]

    @property
    def trained(self) -> int:
        """How many of them are trained."""
        return sum(each.trained for each in self.providers)


def boxes(state: RunState) -> list[Box]:
    """In the order of the scenario."""
    if len(state.providers) <= MOST:
        return [Box(each.name, each.plays, [each]) for each in state.providers.values()]
    alike: dict[str, list[Provider]] = {}
    for each in state.providers.values():
        alike.setdefault(each.plays, []).append(each)
    return [Box(f"{len(own)} {plays} providers", plays, own) for plays, own in alike.items()]
