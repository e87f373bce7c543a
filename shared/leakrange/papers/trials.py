"""From the rows of a paper to scenarios: the trial behind each row, and which of them one run measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from leakrange.defences.registered import is_trained
from leakrange.defences.stages import name_of
from leakrange.jobs.recipe import Crowd, NetSpec
from leakrange.jobs.versions import DEFENCE, Versions, raised
from leakrange.scenario.results import RunResults, TrialResult

__all__ = ["Batch", "PaperTrial", "batches"]

BUDGET = 1_000_000
"""Samples: every record of every split."""
CHUNK = 250
USERS = 20
PROVIDERS = 40
"""Most of one run: so many models are served at a time."""
ATTACKS = 60
"""Most of one run: a scenario has no more than 64."""
DEFENCES = 16
"""Most of one run: a run that fails loses no more than these."""


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
        """All that decides the figures: the trial, and the declared versions of what trains its model, of the
        attack and its kind (see `raised`), and of how a crowd is drawn."""
        behaviour = "/".join(self.provider[part] for part in ("behaviour", "method") if part in self.provider)
        net = self.provider.get("net", {}).get("name", NetSpec().name)
        versions = Versions.declared(self.data["name"], net, behaviour).model_dump()
        versions |= raised(self.attack["kind"])
        if "crowd" in self.data:
            versions["crowd"] = Crowd().version
        told = {**self.model_dump(mode="json", exclude_defaults=True), "versions": versions}
        # of a defence that nothing is trained for, the parameters say it all
        trained = [name for link in self.defence if (name := name_of(link)) and is_trained(name)]
        if trained:
            declared = {
                name: Versions.declared(self.data["name"], net, DEFENCE + name).trainer for name in trained
            }
            told["defence_versions"] = declared
        return told


@dataclass
class Batch:
    """Trials of one run: of one seed, on the same data, and either under the same defence, or of the same
    provider and attack."""

    first: PaperTrial
    providers: list[dict[str, Any]] = field(default_factory=list)
    attacks: list[dict[str, Any]] = field(default_factory=list)
    defences: list[list[Any]] = field(default_factory=list)
    trials: dict[tuple[str, str, str], PaperTrial] = field(default_factory=dict)
    """By the names of provider, defence and attack in the scenario."""

    @property
    def full(self) -> bool:
        """Whether it has as many providers, attacks, or defences, as one run takes."""
        met = ((self.providers, PROVIDERS), (self.attacks, ATTACKS), (self.defences, DEFENCES))
        return any(len(found) >= most for found, most in met)

    def add(self, trial: PaperTrial) -> None:
        """Take in a trial that has this one's seed and data, and its defence, or its provider and attack."""
        names = (
            _name("p", self.providers, trial.provider),
            _name("d", self.defences, trial.defence),
            _name("a", self.attacks, trial.attack),
        )
        self.trials[names] = trial

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
            "defences": {f"d{number}": each for number, each in enumerate(self.defences)},
            "attacks": {
                f"a{number}": {
                    **each,
                    "providers": list(
                        dict.fromkeys(
                            provider for provider, _, attack in self.trials if attack == f"a{number}"
                        )
                    ),
                }
                for number, each in enumerate(self.attacks)
            },
        }

    def found(self, results: RunResults) -> Iterable[tuple[PaperTrial, TrialResult]]:
        """Each trial with what the run of the scenario says of it."""
        for result in results.trials:
            yield self.trials[result.provider, result.defence, result.attack], result


def _name(letter: str, known: list[Any], wanted: Any) -> str:
    if wanted not in known:
        known.append(wanted)
    return f"{letter}{known.index(wanted)}"


def batches(trials: Iterable[PaperTrial]) -> list[Batch]:
    """The trials in few runs, in the order in which they are first wanted: those under one defence together;
    and such as are alone with theirs with others of their provider and attack."""
    found = _together(trials, lambda trial: [trial.seed, trial.data, trial.defence])
    alone = {id(batch.first) for batch in found if len(batch.trials) == 1}

    def shared(trial: PaperTrial) -> list[Any]:
        own = [trial.provider, trial.attack] if id(trial) in alone else [trial.defence]
        return [id(trial) in alone, trial.seed, trial.data, *own]

    return _together((trial for batch in found for trial in batch.trials.values()), shared)


def _together(trials: Iterable[PaperTrial], shared: Callable[[PaperTrial], list[Any]]) -> list[Batch]:
    """Batches of trials that have what is ``shared`` in common."""
    found: list[Batch] = []
    latest: dict[str, Batch] = {}
    for trial in trials:
        name = json.dumps(shared(trial), sort_keys=True)
        if name not in latest or latest[name].full:
            latest[name] = Batch(trial)
            found.append(latest[name])
        latest[name].add(trial)
    return found
