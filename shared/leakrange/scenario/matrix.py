"""From a scenario to its plan: provider × defence × attack × knowledge × budget × seed, and what each trial
needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.target import Target
from leakrange.data import names
from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import Chain
from leakrange.jobs.steps.fit import Knowledge
from leakrange.scenario import registered
from leakrange.scenario.attacks import targets_of
from leakrange.scenario.bounds import Requests
from leakrange.scenario.cell import UNKNOWN_SAMPLES, Needed, PlannedCell
from leakrange.scenario.document import AttackSpec, Scenario
from leakrange.scenario.fitting import misfits
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import FORM, Plan, PlannedPolicy, PlannedTrial
from leakrange.scenario.provider import resolve
from leakrange.scenario.results import TrialResult
from leakrange.scenario.sizes import Sizes, known_sizes, split_sizes

__all__ = ["UNKNOWN_SAMPLES", "Expansion", "expand"]


def expand(scenario: Scenario, sizes: Sizes = split_sizes) -> Plan:
    """The plan of a checked scenario: the same for the same scenario and sizes, every cell once, in the
    order of the file.

    A defence's chain is split: what it does to samples and to the model is done by the users' devices, what
    it does to releases is the proxy's policy. A defence that has to be trained is, for each provider's data
    and each seed. What a trial asks, and what its budget buys, is decided by its kind of attack
    (`leakrange.attacks.kinds`).

    Cells that make no sense are left out: a defence that cannot be applied to the provider's data, or to what
    it releases; a second knowledge where there is no defence; any knowledge but "unaware" of what devices
    alone do, for an attacker who has none; what the kind of attack rules out, such as a budget that buys too
    few records. Raises `InvalidScenario` if nothing is left, if the plan would have too many requests, or if
    the data cannot be split as the scenario wants.

    ``sizes`` tells how many samples each split holds, or None where that is not known here. All trials are
    in memory at once: `Expansion` gives those of a large scenario one by one.
    """
    expansion = Expansion(scenario, sizes)
    return expansion.plan(list(expansion))


def _knowledges(spec: AttackSpec, chain: DefenceChain, *, on_device: bool) -> list[Knowledge]:
    """The knowledges of a defence that are planned for an attacker, who asks with a device or without.

    Without a defence there is nothing to know: one attacker stands for all. Queries do not show what devices
    do to samples and to their model; only an attacker with a device can do the same. Other attackers are
    planned as unaware of such a defence, or not at all. Everybody has the extractor of features, and it draws
    nothing: one attacker stands for all of it as well.
    """
    known = list(spec.knowledge or ())
    if chain.representation and not chain.outputs.stages:
        return ["aware"] if "aware" in known else known[:1]
    if chain.outputs.stages or (on_device and chain.on_device):
        return known
    return [each for each in known if each == "unaware"] if chain.on_device else known[:1]


class Expansion:
    """The trials of a checked scenario one after the other, in the order of `expand`, and behind the last of
    them the rest of its plan. It keeps no trial. Raises what `expand` raises."""

    def __init__(self, scenario: Scenario, sizes: Sizes = split_sizes) -> None:
        self.scenario, sizes = scenario, cache(sizes)
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
            sizes=sizes,
            replay=scenario.replay,
        )
        self.targets = {name: self._targets(spec) for name, spec in scenario.attacks.items()}
        self.draws = self._draws()
        self.count = 0
        """The number of trials so far."""
        self.tried: dict[tuple[str, str], TrialResult] = {}
        """The first trial of each attack on each provider."""
        self._defences: dict[str, None] = {}
        self._shown: set[tuple[str, str]] = set()

    def _asked(self, defence: str, undefended: str) -> str:
        """Return the first defence with the same policy as ``defence``: queries have the same answers under
        both, whatever they do to the model on devices. So no query is made twice."""
        policy = self.chains[defence].outputs.digest()
        same = (name for name, chain in self.chains.items() if chain.outputs.digest() == policy)
        return undefended if not self.chains[defence].outputs.stages else next(same)

    def _draws(self) -> dict[int, range]:
        """Return the draws in which averaging attackers query, by their number of repeats.

        Draw 0 is for those who ask once. Each number of repeats has draws of its own, so that all draws
        which are averaged hold the same records, and none is asked for more than its attackers may have
        answered.
        """
        repeats = set()
        for name, spec in self.scenario.attacks.items():
            if "averaging" in (spec.knowledge or ()):
                on = self.targets[name].values()
                repeats |= {target.answers("averaging") for targets in on for target in targets}
        draws, first = {}, 1
        for number in sorted(repeats):
            draws[number] = range(first, first + number)
            first += number
        return draws

    def _targets(self, spec: AttackSpec) -> dict[str, list[Target]]:
        entry = registered.attacks()[spec.kind]
        return {name: targets_of(entry, spec, self.providers[name]) for name in spec.providers or ()}

    def __iter__(self) -> Iterator[PlannedTrial]:
        for trial in self._trials():
            result, needs = trial.result, trial.needs
            self.count += 1
            self.tried.setdefault((result.provider, result.attack), result)
            self._defences[result.defence] = None
            spans = [span.model_dump_json() for span in needs.shows]
            self._shown.update(product(needs.shadows, spans))
            yield trial

    def plan(self, trials: Sequence[PlannedTrial] = ()) -> Plan:
        """The plan, when all trials were taken. It holds those that are given: a run keeps its own in rows of
        the database."""
        if not self.count:
            Mistakes().refuse(
                (), "no trial is left: every combination is without sense, or the data is too small"
            )
        probes = self.needed.probes()
        used = self._defences | dict.fromkeys([probe.defence for probe in probes])
        return Plan(
            form=FORM,
            models=list(self.needed.models.values()),
            shadows=list(self.needed.shadows.values()),
            crafts=list(self.needed.crafts.values()),
            obfuscators=list(self.needed.obfuscators.values()),
            policies=[self._policy(name) for name in used],
            streams=list(self.needed.streams.values()),
            probes=probes,
            trials=list(trials),
            classes=self._classes(),
            shown=len(self._shown),
        )

    def _policy(self, defence: str) -> PlannedPolicy:
        # An undefended API is always needed: unaware attackers query it.
        chain = self.chains[defence].policy if defence in self.chains else Chain(())
        return PlannedPolicy(defence=defence, chain=chain, digest=chain.digest())

    def _classes(self) -> dict[str, dict[str, list[str]]]:
        classes: dict[str, dict[str, list[str]]] = {}
        for result in self.tried.values():
            of_data = classes.setdefault(result.data, {})
            provider = self.providers[result.provider]
            for name in (*names(provider.target), *names(provider.hides)):
                of_data[name] = list(provider.attributes[name].classes)
            for target in self.targets[result.attack][result.provider]:
                of_data[target.hidden] = list(target.classes)
        return classes

    def _trials(self) -> Iterator[PlannedTrial]:
        for provider, (defence, chain) in product(self.providers.values(), self.chains.items()):
            if chain.refuse(provider.release) is not None or misfits(chain, provider):
                continue
            for attack, spec in self.scenario.attacks.items():
                on_device = kind_of(registered.attacks()[spec.kind]).on_device
                known = _knowledges(spec, chain, on_device=on_device)
                same: dict[str, Any] = {
                    "needed": self.needed,
                    "provider": provider,
                    "defence": defence,
                    "chain": chain,
                    "local": self.local,
                    "policy": chain.outputs.spec(),
                    "changes_devices": bool(chain.on_device),
                    "changes_model": chain.changes_model,
                    "substitutes": any(link.substitutes for _, link in chain.inputs),
                    "devices_defend": bool(self.local),
                    "sizes": self.sizes[provider.label],
                }
                targets = self.targets[attack].get(provider.name, ())
                settings = product(targets, known, self.scenario.budgets, self.scenario.seeds)
                for target, knowledge, budget, seed in settings:
                    draws = self._asks_in(target, knowledge)
                    cell = PlannedCell(
                        target=target, knowledge=knowledge, budget=budget, seed=seed, draws=draws, **same
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
        name = f"{model.id}.{cell.defence}.{attack}.{cell.knowledge}.b{cell.budget}"
        several = len(self.targets[attack][provider.name]) > 1
        result = TrialResult(
            id=f"{name}.{cell.target.hidden}" if several else name,
            kind=cell.target.attack.kind,
            provider=provider.name,
            data=provider.label,
            behaviour=provider.key,
            release=provider.release,
            target=", ".join(names(provider.target)),
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
            samples=cell.samples,
        )
