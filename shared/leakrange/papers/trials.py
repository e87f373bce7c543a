"""The way from the rows of a paper to scenarios: the trial behind each row, and the trials of one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from leakrange.data import datasets
from leakrange.defences.registered import is_trained
from leakrange.defences.stages import name_of
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import Crowd
from leakrange.jobs.versions import DEFENCE, AttackVersion, Versions, attack_versions, raised
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.strict import Strict

__all__ = ["PaperTrial", "TrialBatch", "batches"]

BUDGET = 1_000_000
"""Number of samples that is enough for every record of every split."""
CHUNK = 250
USERS = 20
PROVIDERS = 40
"""Most providers of one run, since all of its models are served at a time."""
ATTACKS = 60
"""Most attacks of one run: a scenario has no more than 64."""
DEFENCES = 16
"""Most defences of one run: a run that fails loses no more than these."""


class PaperTrial(Strict):
    """One trial as its paper writes it: ``data``, ``provider``, ``defence`` and ``attack`` stand as in a
    scenario, without fields at their default."""

    seed: int
    data: dict[str, Any]
    provider: dict[str, Any]
    attack: dict[str, Any]
    defence: list[Any] = []

    def attack_versions(self) -> list[AttackVersion]:
        """The versions of the attack whose figures may be shown (see `attack_versions`), today's first."""
        given = {**self.attack, "release": self.provider.get("release")}
        return attack_versions(self.attack["kind"], given)

    def identity(self, version: int | None = None) -> dict[str, Any]:
        """Everything that decides the figures: the trial, and the declared versions of its model's training,
        of the attack and its kind (see `raised`), and of the drawing of a crowd. Another ``version`` of the
        attack is one of `attack_versions`."""
        behaviour = "/".join(self.provider[part] for part in ("behaviour", "method") if part in self.provider)
        sample = datasets[self.data["name"]].sized(self.data.get("size"))
        net = NetChoice.model_validate(self.provider.get("net", {})).of(sample).name
        versions = Versions.declared(self.data["name"], net, behaviour).model_dump()
        versions |= raised(self.attack["kind"], version or self.attack_versions()[0].number)
        if "crowd" in self.data:
            versions["crowd"] = Crowd().version
        identity = {**self.model_dump(mode="json", exclude_defaults=True), "versions": versions}
        # A defence without training is identified by its parameters alone.
        trained = [name for link in self.defence if (name := name_of(link)) and is_trained(name)]
        if trained:
            declared = {
                name: Versions.declared(self.data["name"], net, DEFENCE + name).trainer for name in trained
            }
            identity["defence_versions"] = declared
        return identity


@dataclass
class TrialBatch:
    """Trials of one run: of one seed, on the same data, and either under the same defence, or of the same
    provider and attack."""

    first: PaperTrial
    providers: list[dict[str, Any]] = field(default_factory=list)
    attacks: list[dict[str, Any]] = field(default_factory=list)
    defences: list[list[Any]] = field(default_factory=list)
    trials: dict[tuple[str, str, str], PaperTrial] = field(default_factory=dict)
    """Trials by the names of provider, defence and attack in the scenario."""

    @property
    def full(self) -> bool:
        """Whether it has as many providers, attacks, or defences, as one run takes."""
        limits = ((self.providers, PROVIDERS), (self.attacks, ATTACKS), (self.defences, DEFENCES))
        return any(len(entries) >= limit for entries, limit in limits)

    def add(self, trial: PaperTrial) -> None:
        """Add a trial with this batch's seed and data, and its defence, or its provider and attack."""
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

    def with_results(self, results: RunResults) -> Iterable[tuple[PaperTrial, TrialResult]]:
        """Each trial with its result in the scenario's run."""
        for result in results.trials:
            yield self.trials[result.provider, result.defence, result.attack], result


def _name(letter: str, known: list[Any], entry: Any) -> str:
    if entry not in known:
        known.append(entry)
    return f"{letter}{known.index(entry)}"


def batches(trials: Iterable[PaperTrial]) -> list[TrialBatch]:
    """The trials in few runs, in the order in which they are first needed. Trials under one defence go
    together; those that are alone under theirs go with others of their provider and attack."""
    by_defence = _together(trials, lambda trial: [trial.seed, trial.data, trial.defence])
    alone = {id(batch.first) for batch in by_defence if len(batch.trials) == 1}

    def shared(trial: PaperTrial) -> list[Any]:
        common = [trial.provider, trial.attack] if id(trial) in alone else [trial.defence]
        return [id(trial) in alone, trial.seed, trial.data, *common]

    return _together((trial for batch in by_defence for trial in batch.trials.values()), shared)


def _together(trials: Iterable[PaperTrial], shared: Callable[[PaperTrial], list[Any]]) -> list[TrialBatch]:
    """Batches of trials with the same ``shared`` key."""
    together: list[TrialBatch] = []
    latest: dict[str, TrialBatch] = {}
    for trial in trials:
        name = json.dumps(shared(trial), sort_keys=True)
        if name not in latest or latest[name].full:
            latest[name] = TrialBatch(trial)
            together.append(latest[name])
        latest[name].add(trial)
    return together
