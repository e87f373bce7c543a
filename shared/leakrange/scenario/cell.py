"""One cell of the matrix as its kind of attack sees it, and what the trials of a plan need, each thing
once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from leakrange.attacks.kinds.target import Target
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.job import Knowledge, Split
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.document import ClientSpec
from leakrange.scenario.plan import PlannedModel, PlannedProbe, PlannedStream
from leakrange.scenario.provider import Provider
from leakrange.scenario.requests import Requests

__all__ = ["UNKNOWN_SAMPLES", "Needed", "PlannedCell"]

UNKNOWN_SAMPLES = 512
"""Users' samples where the scenario says nothing and the size of the data is not known here."""


@dataclass(frozen=True)
class _Question:
    """What is asked of one model under one defence in one draw, but for how much of it."""

    id: str
    model: str
    defence: str
    draw: int
    split: Split
    by: Literal["attacker", "users"]
    obfuscated: bool


@dataclass
class Needed:
    """What all trials need so far, by id."""

    client: ClientSpec
    requests: Requests
    undefended: str
    """The defence that is none."""
    asked: Mapping[str, str]
    """Under which defence an attacker asks who knows the one of that name."""
    chains: Mapping[str, DefenceChain]
    """The defences."""
    models: dict[str, PlannedModel] = field(default_factory=dict)
    shadows: dict[str, PlannedModel] = field(default_factory=dict)
    streams: dict[str, PlannedStream] = field(default_factory=dict)
    questions: dict[_Question, int] = field(default_factory=dict)
    """And how many samples they are about: the most that any trial needs."""

    def probes(self) -> list[PlannedProbe]:
        """All questions, in requests. Raises `InvalidScenario` where these are too many."""
        found = []
        for question, count in self.questions.items():
            data = self.models[question.model].recipe.data.of_everyone()
            found.append(
                PlannedProbe(
                    id=question.id,
                    model=question.model,
                    defence=question.defence,
                    draw=question.draw,
                    local=self.chains[question.defence].input_spec() if question.obfuscated else [],
                    spans=self.requests.spans(data, question.split, count),
                    by=question.by,
                )
            )
        return found


@dataclass
class PlannedCell:
    """A `leakrange.attacks.kinds.cell.Cell`: what its kind of attack needs is added to what is ``needed``.

    ``draws`` are those in which the attacker asks, ``sizes`` of the provider's splits, as far as known.
    """

    needed: Needed
    provider: Provider
    target: Target
    defence: str
    chain: DefenceChain
    local: DefenceChain
    knowledge: Knowledge
    budget: int
    seed: int
    draws: range
    sizes: Mapping[str, int] | None

    @property
    def model(self) -> PlannedModel:
        """What is attacked."""
        name, known = f"{self.provider.name}-s{self.seed}", self.needed.models
        if name not in known:
            known[name] = self.provider.model(name, self.seed)
        return known[name]

    @property
    def data(self) -> DataSpec:
        """As who must not know what the model was trained on loads it."""
        return self.model.recipe.data.of_everyone()

    @property
    def available(self) -> int | None:
        """Auxiliary records; None where that is not known."""
        return self.sizes["auxiliary"] if self.sizes else None

    @property
    def policy(self) -> list[Any]:
        """The chain of output defences that the API applies."""
        return self.chain.outputs.spec()

    @property
    def changes_devices(self) -> bool:
        """Whether the defence changes samples or the model on users' devices."""
        return bool(self.chain.on_device)

    @property
    def devices_defend(self) -> bool:
        """Whether users' devices have defences of their own."""
        return bool(self.local)

    def uploads(self, draws: int = 1) -> list[str]:
        """A stream for each draw, once where all would be the same."""
        same = self.chain.deterministic and self.local.deterministic
        names = []
        for draw in range(1 if same else draws):
            name = f"{self.model.id}.{self.defence}.u{draw}"
            names.append(name)
            if name not in self.needed.streams:
                self.needed.streams[name] = self._stream(name, draw)
        return names

    def _stream(self, name: str, draw: int) -> PlannedStream:
        client = self.needed.client
        samples = client.samples or (self.sizes["test"] if self.sizes else UNKNOWN_SAMPLES)
        if self.sizes:
            samples = min(samples, self.sizes["test"])
        return PlannedStream(
            id=name,
            model=self.model.id,
            defence=self.defence,
            draw=draw,
            clients=client.count,
            local=self.local.then(self.chain.on_device).spec(),
            spans=self.needed.requests.spans(self.provider.data, "test", samples),
        )

    def ask(
        self,
        split: Split,
        count: int,
        *,
        undefended: bool = False,
        by: Literal["attacker", "device", "users"] = "attacker",
    ) -> list[str]:
        """A probe for each time that the attacker asks, one where users do."""
        defence = self.needed.undefended if undefended else self.needed.asked[self.defence]
        obfuscated = by == "device" and not undefended and bool(self.chain.inputs)
        if obfuscated:
            defence = self.defence
        asker: Literal["attacker", "users"] = "users" if by == "users" else "attacker"
        kind = "device" if obfuscated else "q" if split == "auxiliary" else split
        names = []
        for draw in range(1) if by == "users" else self.draws:
            mark = "users" if by == "users" else f"{kind}{draw}"
            name = f"{self.model.id}.{defence}.{mark}"
            question = _Question(name, self.model.id, defence, draw, split, asker, obfuscated)
            self.needed.questions[question] = max(count, self.needed.questions.get(question, 0))
            names.append(name)
        return names

    def shadow(self, number: int) -> str:
        """All seeds and all attacks on a provider share it."""
        name = f"{self.provider.name}-shadow{number}"
        if name not in self.needed.shadows:
            self.needed.shadows[name] = self.provider.shadow_model(name, number)
        return name
