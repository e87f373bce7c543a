"""A plan under several limits: everything that load users ask, once under each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leakrange.scenario.bounds import MAX_AT_ONCE, MAX_REQUESTS
from leakrange.scenario.load import Alternative, LoadSpec
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan, PlannedPolicy, PlannedProbe, PlannedTrial

__all__ = ["under_limits"]


def under_limits(plan: Plan, load: LoadSpec) -> Plan:
    """Return the plan of a run under load: each question that attackers ask through load users is repeated
    under each alternative, and so are the trials that need it. Under an alternative of the name N the defence
    D is called ``D.N``. What users do and the fleet asks is done once. Raises `InvalidScenario` if there are
    too many trials or requests."""
    split = {probe.id: probe for probe in plan.probes if probe.by == "attacker" and probe.offered}
    policies = {policy.defence: policy for policy in plan.policies}
    probes = [probe for probe in plan.probes if probe.id not in split]
    trials: list[PlannedTrial] = []
    for number, each in enumerate(load.alternatives):
        asked = {name: _probe(probe, each) for name, probe in split.items()}
        probes += asked.values()
        trials += _trials(plan.trials, asked, each, first=number == 0)
    for policy in plan.policies:
        for each in load.alternatives:
            name = _named(policy.defence, each)
            policies[name] = PlannedPolicy(defence=name, chain=policy.chain, digest=policy.digest)
    if len(trials) > MAX_AT_ONCE or sum(len(probe.spans) for probe in probes) > MAX_REQUESTS:
        message = (
            f"at most {MAX_AT_ONCE} trials and {MAX_REQUESTS} requests under all limits together: take fewer"
        )
        Mistakes().refuse(("load", "limits"), message)
    return plan.model_copy(
        update={"probes": probes, "trials": trials, "policies": list(policies.values()), "load": load}
    )


def _probe(probe: PlannedProbe, under: Alternative) -> PlannedProbe:
    named = {"id": _named(probe.id, under), "defence": _named(probe.defence, under)}
    return probe.model_copy(update={**named, "under": under})


def _trials(
    trials: list[PlannedTrial], asked: Mapping[str, PlannedProbe], under: Alternative, *, first: bool
) -> Iterator[PlannedTrial]:
    for trial in trials:
        needed = {name for probes in trial.needs.probes.values() for name in probes}
        if not needed & asked.keys():
            if first:
                yield trial
            continue
        names = {name: asked[name].id if name in asked else name for name in needed}
        result, needs = trial.result, trial.needs
        renamed = {role: [names[name] for name in probes] for role, probes in needs.probes.items()}
        yield trial.model_copy(
            update={
                "result": result.model_copy(
                    update={
                        "id": _named(result.id, under),
                        "defence": _named(result.defence, under),
                    }
                ),
                "needs": needs.model_copy(update={"probes": renamed}),
                "samples": {names[name]: count for name, count in trial.samples.items()},
            }
        )


def _named(name: str, under: Alternative) -> str:
    return f"{name}.{under.name}" if under.name else name
