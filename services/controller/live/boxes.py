"""The providers of a run as a picture shows them: each by itself, or by behaviour if they are many."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.services.controller.live.state import LiveModel, LiveProvider, RunState

__all__ = ["MOST", "Box", "boxes"]

MOST = 12
"""Up to this number, each provider has a place of its own."""


@dataclass(frozen=True)
class Box:
    """One place in the picture: a provider, or all that play the same."""

    name: str
    plays: str
    providers: list[LiveProvider]

    @property
    def models(self) -> list[LiveModel]:
        """All their models."""
        return [each for provider in self.providers for each in provider.models.values()]

    @property
    def trained(self) -> int:
        """The number of them that are trained."""
        return sum(each.trained for each in self.providers)


def boxes(state: RunState) -> list[Box]:
    """The boxes in the order of the scenario."""
    if len(state.providers) <= MOST:
        return [Box(each.name, each.plays, [each]) for each in state.providers.values()]
    alike: dict[str, list[LiveProvider]] = {}
    for each in state.providers.values():
        alike.setdefault(each.plays, []).append(each)
    return [
        Box(f"{len(providers)} {plays} providers", plays, providers) for plays, providers in alike.items()
    ]
