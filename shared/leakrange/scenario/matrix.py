"""From a scenario to its plan: provider × defence × attack × knowledge × budget × seed, and what each trial
needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import Chain
from leakrange.jobs.job import Knowledge, Span, Split
from leakrange.scenario import registered
from leakrange.scenario.attacks import MEMBERSHIP, Target, records, target_of
from leakrange.scenario.crowds import pool_of, users_ask
from leakrange.scenario.document import AttackSpec, ClientSpec, Scenario
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import (
    Plan,
    PlannedMembers,
    PlannedModel,
    PlannedPeople,
    PlannedPolicy,
    PlannedProbe,
    PlannedStream,
    PlannedTrial,
)
from leakrange.scenario.provider import Provider, resolve
from leakrange.scenario.requests import Requests
from leakrange.scenario.results import TrialResult
from leakrange.scenario.sizes import Sizes, known_sizes, split_sizes

__all__ = ["UNKNOWN_SAMPLES", "expand"]

MEMBERS = ("not trained on", "trained on")
UNKNOWN_SAMPLES = 512
"""Users' samples where the scenario says nothing and the size of the data is not known here."""


def expand(scenario: Scenario, sizes: Sizes = split_sizes) -> Plan:
    """The plan of a checked scenario: the same for the same scenario and sizes, every cell once, in the
    order of the file.

    What a budget buys. An outside attacker may have ``budget`` samples answered: it asks for that many of its
    auxiliary records (or all it has), an averaging one for a part of them, ``repeats`` times each. An inside
    attacker sees the first ``budget`` uploads. A user who distils has ``budget`` of its records answered.

    A defence's chain is split: what it does to the model is done by the users' devices, what it does to
    outputs is the proxy's policy. An outside attacker who knows a defence has asked under its policy. Who is
    after members asks about the whole pool under the policy in force, whatever it knows of it: knowing it, it
    defends its shadows' outputs likewise.

    Cells without sense are left out: a defence that means nothing on what the provider releases; a second
    knowledge of no defence at all, and any but "unaware" of one that changes models alone; a student where
    devices change or defend the provider's model, which it is not; a budget that buys fewer records than the
    attack can use. Where nothing is left, raises `InvalidScenario`; likewise where the plan would have
    too many requests, and for data that cannot be split as the scenario wants.

    ``sizes`` tells how many images each split holds, or None where that is not known here.
    """
    plan = _Expansion(scenario, sizes).plan()
    if not plan.trials:
        Mistakes().refuse(
            (), "no trial is left: every combination is without sense, or the data is too small"
        )
    return plan


def _knowledges(spec: AttackSpec, chain: DefenceChain) -> list[Knowledge]:
    """What an attacker can know of a defence.

    Of no defence there is nothing to know: one attacker stands for all. What devices do to their model shows
    in no answer to a query: of a defence without a policy an attacker is unaware, or is not planned.
    """
    known = list(spec.knowledge or ())
    if chain.outputs.stages:
        return known
    return [each for each in known if each == "unaware"] if chain.model else known[:1]


def _kind(where: str, target: Target) -> str:
    if target.crowd is not None:
        return "people"
    if target.pool is not None:
        return "membership"
    return "student" if where == "user" else "attribute"


class _Expansion:
    def __init__(self, scenario: Scenario, sizes: Sizes) -> None:
        self.scenario = scenario
        self.client: ClientSpec = next(iter(scenario.clients.values()))
        self.local = DefenceChain.parse(self.client.defence)
        self.sizes = {label: known_sizes(label, spec, sizes) for label, spec in scenario.data.items()}
        self.requests = Requests(scenario.chunk)
        self.providers = {
            name: resolve(name, spec, scenario.data[str(spec.data)])
            for name, spec in scenario.providers.items()
        }
        self.chains = {name: DefenceChain.parse(spec) for name, spec in scenario.defences.items()}
        self.undefended = next((name for name, chain in self.chains.items() if not chain), "none")
        self.asked = {name: self._asked(name) for name in self.chains}
        """Under which defence an attacker asks who knows the one of that name."""
        self.targets = {name: dict(self._targets(spec)) for name, spec in scenario.attacks.items()}
        self.draws = self._draws()
        self.models: dict[str, PlannedModel] = {}
        self.shadows: dict[str, PlannedModel] = {}
        self.streams: dict[str, PlannedStream] = {}
        self.pools: dict[tuple[str, str, int], int] = {}
        """How many records of the pool are asked after of (model, defence) in a draw."""
        self.users: dict[tuple[str, str], Span] = {}
        """What users ask of the student service (model, defence)."""
        self.wanted: dict[tuple[str, str, int], int] = {}
        """Records that outside attackers ask of (model, defence) in a draw: the most that any trial needs."""

    def _draws(self) -> dict[int, range]:
        """The draws in which averaging attackers query, by their number of repeats.

        Draw 0 is for those who ask once. Each number of repeats has draws of its own, so that all draws
        which are averaged hold the same records, and none is asked for more than its attackers may have
        answered.
        """
        repeats = set()
        for name, spec in self.scenario.attacks.items():
            if "averaging" in (spec.knowledge or ()):
                repeats |= {target.answers("averaging") for target in self.targets[name].values()}
        found, first = {}, 1
        for number in sorted(repeats):
            found[number] = range(first, first + number)
            first += number
        return found

    def _targets(self, spec: AttackSpec) -> Iterator[tuple[str, Target]]:
        entry = registered.attacks()[spec.kind]
        for name in spec.providers or ():
            target = target_of(entry, spec, self.providers[name])
            if isinstance(target, Target):
                yield name, target

    def plan(self) -> Plan:
        trials = list(self._trials())
        probes = []
        asked: list[tuple[str, Split, dict[tuple[str, str, int], int]]] = [
            ("q", "auxiliary", self.wanted), ("pool", "pool", self.pools)
        ]  # fmt: skip
        for mark, split, counts in asked:
            for (model, defence, draw), count in counts.items():
                data = self.models[model].recipe.data.of_everyone()
                spans = self.requests.spans(data, split, count)
                name = f"{model}.{defence}.{mark}{draw}"
                probes.append(PlannedProbe(id=name, model=model, defence=defence, draw=draw, spans=spans))
        for (name, defence), span in self.users.items():
            spans = self.requests.spans(span.data, span.split, span.stop)
            own = f"{name}.{defence}.users"
            probes.append(PlannedProbe(id=own, model=name, defence=defence, draw=0, spans=spans, by="users"))
        used = dict.fromkeys([trial.result.defence for trial in trials])
        used |= dict.fromkeys([probe.defence for probe in probes])
        return Plan(
            models=list(self.models.values()),
            shadows=list(self.shadows.values()),
            policies=[self._policy(name) for name in used],
            streams=list(self.streams.values()),
            probes=probes,
            trials=trials,
            classes=self._classes(trials),
        )

    def _policy(self, defence: str) -> PlannedPolicy:
        # Unaware attackers query an undefended API in any case.
        chain = self.chains[defence].outputs if defence in self.chains else Chain(())
        return PlannedPolicy(defence=defence, chain=chain.spec(), digest=chain.digest())

    def _classes(self, trials: list[PlannedTrial]) -> dict[str, dict[str, list[str]]]:
        found: dict[str, dict[str, list[str]]] = {}
        for trial in trials:
            attributes = self.providers[trial.result.provider].attributes
            for name in (trial.result.target, trial.result.sensitive):
                classes = MEMBERS if name == MEMBERSHIP else attributes[name].classes
                found.setdefault(trial.result.data, {})[name] = list(classes)
        return found

    def _trials(self) -> Iterator[PlannedTrial]:
        scenario = self.scenario
        for provider in self.providers.values():
            attacks = {
                name: (spec, self.targets[name][provider.name])
                for name, spec in scenario.attacks.items()
                if provider.name in self.targets[name]
            }
            for defence, chain in self.chains.items():
                if chain.outputs.refuse(provider.release) is not None:
                    continue
                for name, (spec, target) in attacks.items():
                    own_model = registered.attacks()[spec.kind].where == "user"
                    if own_model and (chain.model or self.local):
                        continue
                    for knowledge in _knowledges(spec, chain):
                        for budget in scenario.budgets:
                            for seed in scenario.seeds:
                                trial = self._trial(
                                    provider, seed, defence, name, spec, target, knowledge, budget
                                )
                                if trial is not None:
                                    yield trial

    def _trial(
        self,
        provider: Provider,
        seed: int,
        defence: str,
        attack: str,
        spec: AttackSpec,
        target: Target,
        knowledge: Knowledge,
        budget: int,
    ) -> PlannedTrial | None:
        where = registered.attacks()[spec.kind].where
        sizes = self.sizes[provider.label]
        count = None
        if target.crowd is not None:
            if self.chains[defence].model:
                return None  # devices have no part in a service
            count = target.crowd.within(budget // self._times(defence, knowledge, target))
        elif where != "provider":
            count = records(target, knowledge, budget, sizes["auxiliary"] if sizes else None)
        if count is None and where != "provider":
            return None
        model = self._model(provider, seed)
        result = TrialResult(
            id=f"{model.id}.{defence}.{attack}.{knowledge}.b{budget}",
            kind=_kind(where, target),
            provider=provider.name,
            data=provider.label,
            behaviour=provider.key,
            release=provider.release,
            target=provider.target,
            sensitive=target.sensitive,
            defence=defence,
            attack=attack,
            knowledge=knowledge,
            budget=budget,
            seed=seed,
        )
        shared: dict[str, Any] = {
            "result": result,
            "model": model.id,
            "where": where,
            "attack": spec.kind,
            "parameters": target.parameters.model_dump(mode="json"),
        }
        if target.crowd is not None and count is not None:
            people = self._people(model, defence, target, knowledge, count)
            return PlannedTrial(**shared, streams=[], people=people, span=pool_of(model.recipe.data))
        if target.pool is not None:
            # Its users are there for the honesty alone, for which they need upload but once.
            streams = self._streams(provider, model, defence, target, "unaware")
            members = self._members(provider, model, defence, target, knowledge, target.pool)
            if not count:
                return PlannedTrial(**shared, streams=streams, members=members)
            asked = self._ask(self.wanted, model, self.asked[defence], target, knowledge, count)
            return PlannedTrial(
                **shared,
                streams=streams,
                members=members,
                probes=[f"{key}.q{draw}" for key, draw in asked],
                auxiliary_count=count,
                span=Span(data=provider.data.of_everyone(), split="auxiliary", start=0, stop=count),
            )
        shared["streams"] = self._streams(provider, model, defence, target, knowledge)
        if count is None:
            return PlannedTrial(**shared)
        return PlannedTrial(
            **shared,
            probes=self._probes(model, defence, target, knowledge, count),
            auxiliary_count=count,
            span=Span(data=provider.data, split="auxiliary", start=0, stop=count),
        )

    def _model(self, provider: Provider, seed: int) -> PlannedModel:
        name = f"{provider.name}-s{seed}"
        if name not in self.models:
            self.models[name] = provider.model(name, seed)
        return self.models[name]

    def _times(self, defence: str, knowledge: Knowledge, target: Target) -> int:
        """How often each question is asked; one who is unaware of a policy has learnt without it."""
        if knowledge == "unaware" and self.asked[defence] != self.undefended:
            return 2
        return target.answers(knowledge)

    def _people(
        self, model: PlannedModel, defence: str, target: Target, knowledge: Knowledge, count: int
    ) -> PlannedPeople:
        """The questions about a crowd's people, and what the service's users ask under the same defence."""
        assert model.service is not None  # else no attack on people is tried on it
        asked, before = self.asked[defence], []
        own = self._ask(self.pools, model, asked, target, knowledge, count)
        if knowledge == "unaware" and asked != self.undefended:
            before = self._ask(self.pools, model, self.undefended, target, knowledge, count)
        self.users[model.id, asked] = users_ask(model.recipe.data, model.service)
        return PlannedPeople(
            count=count,
            probes=[f"{key}.pool{draw}" for key, draw in own],
            undefended=[f"{key}.pool{draw}" for key, draw in before],
            users=f"{model.id}.{asked}.users",
        )

    def _streams(
        self, provider: Provider, model: PlannedModel, defence: str, target: Target, knowledge: Knowledge
    ) -> list[str]:
        """What users upload. An averaging attacker waits for repeated uploads, unless they are all the
        same."""
        same = self.chains[defence].outputs.deterministic and self.local.outputs.deterministic
        changes = [*self.local.model_spec(), *self.chains[defence].model_spec()]
        names = []
        for draw in range(1 if same else target.answers(knowledge)):
            name = f"{model.id}.{defence}.u{draw}"
            names.append(name)
            if name not in self.streams:
                self.streams[name] = PlannedStream(
                    id=name,
                    model=model.id,
                    defence=defence,
                    draw=draw,
                    clients=self.client.count,
                    local=[*changes, *self.local.outputs.spec()],
                    spans=self.requests.spans(provider.data, "test", self._samples(provider.label)),
                )
        return names

    def _asked(self, defence: str) -> str:
        """Under which defence a query has the answers that it has under ``defence``: the first with the same
        policy, whatever it does to the model on devices. So nothing is asked twice."""
        policy = self.chains[defence].outputs.digest()
        same = (name for name, chain in self.chains.items() if chain.outputs.digest() == policy)
        return self.undefended if not self.chains[defence].outputs.stages else next(same)

    def _samples(self, label: str) -> int:
        sizes = self.sizes[label]
        if sizes is None:
            return self.client.samples or UNKNOWN_SAMPLES
        return min(self.client.samples or sizes["test"], sizes["test"])

    def _probes(
        self, model: PlannedModel, defence: str, target: Target, knowledge: Knowledge, count: int
    ) -> list[str]:
        asked = self.undefended if knowledge == "unaware" else self.asked[defence]
        return [
            f"{key}.q{draw}" for key, draw in self._ask(self.wanted, model, asked, target, knowledge, count)
        ]

    def _ask(
        self,
        counts: dict[tuple[str, str, int], int],
        model: PlannedModel,
        asked: str,
        target: Target,
        knowledge: Knowledge,
        count: int,
    ) -> list[tuple[str, int]]:
        """Have so many records asked for as often as the attacker asks; (model and defence, draw) of each."""
        draws = self.draws[target.answers(knowledge)] if knowledge == "averaging" else range(1)
        for draw in draws:
            key = (model.id, asked, draw)
            counts[key] = max(count, counts.get(key, 0))
        return [(f"{model.id}.{asked}", draw) for draw in draws]

    def _members(
        self,
        provider: Provider,
        model: PlannedModel,
        defence: str,
        target: Target,
        knowledge: Knowledge,
        pool: int,
    ) -> PlannedMembers:
        """The pool's probes, and the shadows, which all seeds and all attacks on a provider share."""
        data = provider.data.of_everyone()
        asked = self._ask(self.pools, model, self.asked[defence], target, knowledge, pool)
        names = []
        for number in range(int(getattr(target.parameters, "shadows", 0))):
            name = f"{provider.name}-shadow{number}"
            names.append(name)
            if name not in self.shadows:
                self.shadows[name] = provider.shadow_model(name, number)
        return PlannedMembers(
            records=Span(data=data, split="pool", start=0, stop=pool),
            probes=[f"{key}.pool{draw}" for key, draw in asked],
            shadows=names,
            defence=[] if knowledge == "unaware" else self.chains[defence].outputs.spec(),
        )
