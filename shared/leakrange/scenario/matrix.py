"""From a scenario to its plan: provider × defence × attack × knowledge × budget × seed, and what each trial
needs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.target import Target
from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import Chain
from leakrange.jobs.job import Knowledge
from leakrange.scenario import registered
from leakrange.scenario.attacks import target_of
from leakrange.scenario.cell import UNKNOWN_SAMPLES, Needed, PlannedCell
from leakrange.scenario.document import AttackSpec, Scenario
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan, PlannedPolicy, PlannedTrial
from leakrange.scenario.provider import resolve
from leakrange.scenario.requests import Requests
from leakrange.scenario.results import TrialResult
from leakrange.scenario.sizes import Sizes, known_sizes, split_sizes

__all__ = ["UNKNOWN_SAMPLES", "expand"]


def expand(scenario: Scenario, sizes: Sizes = split_sizes) -> Plan:
    """The plan of a checked scenario: the same for the same scenario and sizes, every cell once, in the
    order of the file.

    A defence's chain is split: what it does to samples and to the model is done by the users' devices, what
    it does to releases is the proxy's policy. What a trial asks, and what its budget buys, is for its kind of
    attack to say (`leakrange.attacks.kinds`).

    Cells without sense are left out: a defence that means nothing on what the provider releases; a second
    knowledge of no defence at all, and any but "unaware" of one that changes models alone; what the kind of
    attack finds without sense, such as a budget that buys fewer records than the attack can use. Where
    nothing is left, raises `InvalidScenario`; likewise where the plan would have too many requests, and for
    data that cannot be split as the scenario wants.

    ``sizes`` tells how many samples each split holds, or None where that is not known here.
    """
    plan = _Expansion(scenario, sizes).plan()
    if not plan.trials:
        Mistakes().refuse(
            (), "no trial is left: every combination is without sense, or the data is too small"
        )
    return plan


def _knowledges(spec: AttackSpec, chain: DefenceChain, *, on_device: bool) -> list[Knowledge]:
    """What an attacker can know of a defence, with a device of its own or without.

    Of no defence there is nothing to know: one attacker stands for all. What devices do to their model shows
    in no answer to a query, and what they do to samples shows to those alone who ask with a device: of such a
    defence the others are unaware, or are not planned.
    """
    known = list(spec.knowledge or ())
    if chain.outputs.stages or (on_device and chain.inputs):
        return known
    return [each for each in known if each == "unaware"] if chain.on_device else known[:1]


class _Expansion:
    def __init__(self, scenario: Scenario, sizes: Sizes) -> None:
        self.scenario = scenario
        client = next(iter(scenario.clients.values()))
        self.local = DefenceChain.parse(client.defence, outputs_at="device")
        self.sizes = {label: known_sizes(label, spec, sizes) for label, spec in scenario.data.items()}
        self.providers = {
            name: resolve(name, spec, scenario.data[str(spec.data)])
            for name, spec in scenario.providers.items()
        }
        self.chains = {name: DefenceChain.parse(spec) for name, spec in scenario.defences.items()}
        undefended = next((name for name, chain in self.chains.items() if not chain), "none")
        self.needed = Needed(
            client,
            Requests(scenario.chunk),
            undefended,
            asked={name: self._asked(name, undefended) for name in self.chains},
            chains=self.chains,
        )
        self.targets = {name: dict(self._targets(spec)) for name, spec in scenario.attacks.items()}
        self.draws = self._draws()

    def _asked(self, defence: str, undefended: str) -> str:
        """The first defence with the same policy as ``defence``: queries have the same answers under both,
        whatever they do to the model on devices. So no query is made twice."""
        policy = self.chains[defence].outputs.digest()
        same = (name for name, chain in self.chains.items() if chain.outputs.digest() == policy)
        return undefended if not self.chains[defence].outputs.stages else next(same)

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
        probes = self.needed.probes()
        used = dict.fromkeys([trial.result.defence for trial in trials])
        used |= dict.fromkeys([probe.defence for probe in probes])
        return Plan(
            models=list(self.needed.models.values()),
            shadows=list(self.needed.shadows.values()),
            policies=[self._policy(name) for name in used],
            streams=list(self.needed.streams.values()),
            probes=probes,
            trials=trials,
            classes=self._classes(trials),
        )

    def _policy(self, defence: str) -> PlannedPolicy:
        # Unaware attackers query an undefended API in any case.
        chain = self.chains[defence].policy if defence in self.chains else Chain(())
        return PlannedPolicy(defence=defence, chain=chain.spec(), digest=chain.digest())

    def _classes(self, trials: list[PlannedTrial]) -> dict[str, dict[str, list[str]]]:
        found: dict[str, dict[str, list[str]]] = {}
        for trial in trials:
            result, of_data = trial.result, found.setdefault(trial.result.data, {})
            of_data[result.target] = list(self.providers[result.provider].attributes[result.target].classes)
            of_data[result.sensitive] = list(self.targets[result.attack][result.provider].classes)
        return found

    def _trials(self) -> Iterator[PlannedTrial]:
        for provider, (defence, chain) in product(self.providers.values(), self.chains.items()):
            if chain.refuse(provider.release) is not None:
                continue
            for attack, spec in self.scenario.attacks.items():
                target = self.targets[attack].get(provider.name)
                if target is None:
                    continue
                known = _knowledges(spec, chain, on_device=kind_of(target.attack).on_device)
                for knowledge, budget, seed in product(known, self.scenario.budgets, self.scenario.seeds):
                    cell = PlannedCell(
                        needed=self.needed,
                        provider=provider,
                        target=target,
                        defence=defence,
                        chain=chain,
                        local=self.local,
                        knowledge=knowledge,
                        budget=budget,
                        seed=seed,
                        draws=self._asks_in(target, knowledge),
                        sizes=self.sizes[provider.label],
                    )
                    trial = self._trial(cell, attack, spec)
                    if trial is not None:
                        yield trial

    def _asks_in(self, target: Target, knowledge: Knowledge) -> range:
        return self.draws[target.answers(knowledge)] if knowledge == "averaging" else range(1)

    def _trial(self, cell: PlannedCell, attack: str, spec: AttackSpec) -> PlannedTrial | None:
        needs = kind_of(cell.target.attack).plan(cell)
        if needs is None:
            return None
        provider, model = cell.provider, cell.model
        result = TrialResult(
            id=f"{model.id}.{cell.defence}.{attack}.{cell.knowledge}.b{cell.budget}",
            kind=cell.target.attack.kind,
            provider=provider.name,
            data=provider.label,
            behaviour=provider.key,
            release=provider.release,
            target=provider.target,
            sensitive=cell.target.hidden,
            defence=cell.defence,
            attack=attack,
            knowledge=cell.knowledge,
            budget=cell.budget,
            seed=cell.seed,
        )
        return PlannedTrial(
            result=result,
            model=model.id,
            attack=spec.kind,
            parameters=cell.target.parameters.model_dump(mode="json"),
            needs=needs,
        )
