"""From the rows of a paper to scenarios: the trial behind each row, and which of them one run measures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from leakrange.jobs.recipe import NetSpec
from leakrange.jobs.versions import Versions
from leakrange.scenario.results import RunResults, TrialResult

__all__ = ["Batch", "PaperTrial", "batches"]

BUDGET = 1_000_000
"""Samples: every record of every split."""
CHUNK = 250
USERS = 20
PROVIDERS = 40
"""Most of one run: so many models are served at a time."""


class PaperTrial(BaseModel):
    """One trial as its paper writes it: ``data``, ``provider``, ``defence`` and ``attack`` stand as in a
    scenario, with nothing that is left at its default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    data: dict[str, Any]
    provider: dict[str, Any]
    attack: dict[str, Any]
    defence: list[Any] = []

    def identity(self) -> dict[str, Any]:
        """All that decides the figures: the trial, and the declared versions of what trains its model."""
        behaviour = "/".join(self.provider[part] for part in ("behaviour", "method") if part in self.provider)
        net = self.provider.get("net", {}).get("name", NetSpec().name)
        versions = Versions.declared(self.data["name"], net, behaviour)
        return {**self.model_dump(mode="json", exclude_defaults=True), "versions": versions.model_dump()}


@dataclass
class Batch:
    """Trials of one run: of one seed, on the same data, under the same defence."""

    first: PaperTrial
    providers: list[dict[str, Any]] = field(default_factory=list)
    attacks: list[dict[str, Any]] = field(default_factory=list)
    trials: dict[tuple[str, str], PaperTrial] = field(default_factory=dict)
    """By the names of provider and attack in the scenario."""

    @property
    def full(self) -> bool:
        """Whether it has as many providers as one run takes."""
        return len(self.providers) >= PROVIDERS

    def add(self, trial: PaperTrial) -> None:
        """Take in a trial that has this one's seed, data and defence."""
        self.trials[_name("p", self.providers, trial.provider), _name("a", self.attacks, trial.attack)] = (
            trial
        )

    def scenario(self, name: str) -> dict[str, Any]:
        """All trials as a scenario; each attack is tried on the providers of its trials alone."""
        return {
            "name": f"{name}-seed{self.first.seed}",
            "seeds": [self.first.seed],
            "budgets": [BUDGET],
            "chunk": CHUNK,
            "data": self.first.data,
            "providers": {f"p{number}": each for number, each in enumerate(self.providers)},
            "clients": {"users": {"kind": "edge", "count": USERS}},
            "defences": {"defended": self.first.defence} if self.first.defence else {"none": []},
            "attacks": {
                f"a{number}": {
                    **each,
                    "providers": [provider for provider, attack in self.trials if attack == f"a{number}"],
                }
                for number, each in enumerate(self.attacks)
            },
        }

    def found(self, results: RunResults) -> Iterable[tuple[PaperTrial, TrialResult]]:
        """Each trial with what the run of the scenario says of it."""
        for result in results.trials:
            yield self.trials[result.provider, result.attack], result


def _name(letter: str, known: list[dict[str, Any]], wanted: dict[str, Any]) -> str:
    if wanted not in known:
        known.append(wanted)
    return f"{letter}{known.index(wanted)}"


def batches(trials: Iterable[PaperTrial]) -> list[Batch]:
    """The trials in few runs, in the order in which they are first wanted."""
    found: list[Batch] = []
    latest: dict[str, Batch] = {}
    for trial in trials:
        together = json.dumps([trial.seed, trial.data, trial.defence], sort_keys=True)
        if together not in latest or latest[together].full:
            latest[together] = Batch(trial)
            found.append(latest[together])
        latest[together].add(trial)
    return found
