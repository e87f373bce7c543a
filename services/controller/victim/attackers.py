"""Who guesses a hidden attribute from a visitor's release: the strongest attack of the run on each model
under each defence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack
from leakrange.attacks.kinds.attribute import AttributeEvidence
from leakrange.data import names
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics.verdict import judge
from leakrange.scenario.gains import reached as reached_by
from leakrange.scenario.plan import PlannedModel, PlannedPolicy, PlannedProbe, PlannedTrial
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.victim.demonstration import Demonstration

__all__ = ["Attacker", "attacker_on"]

METRIC, CHANCE = "curiosity", "majority"


@dataclass(frozen=True)
class Attacker:
    """An attack of the run, with its result there. ``job`` fits it again, and keeps what it learns; None
    where the provider's own decoder guesses."""

    attack: str
    attribute: str
    reached: float
    chance: float
    better: bool
    """Whether it does better than guessing with certainty."""
    job: FitJob | None


def attacker_on(
    demonstration: Demonstration,
    model: PlannedModel,
    policy: PlannedPolicy,
    results: Mapping[str, TrialResult],
) -> Attacker | None:
    """The attack that goes furthest beyond chance, or its control; of equals the first. None if no attack of
    the run has a result that can be repeated for a visitor."""
    # A provider that hides nothing need not name what attackers are after.
    hidden, best = names(model.sensitive) or (demonstration.hidden,), None
    for trial in demonstration.plan.trials:
        result = results.get(trial.result.id)
        if result is None or (trial.model, result.defence) != (model.id, policy.defence):
            continue
        reached, chance = result.value(METRIC), result.value(CHANCE)
        if (
            result.sensitive not in hidden
            or reached is None
            or chance is None
            or not _repeatable(trial, result)
        ):
            continue
        far = reached_by([result])
        if best is None or far.strength > best[1].strength:
            best = (trial, far, reached, chance)
    if best is None:
        return None
    trial, far, reached, chance = best
    job = None if trial.result.kind == "decoder" else _fit(demonstration, trial, model)
    better = judge([far]).word == "leaks"
    return Attacker(trial.attack, trial.result.sensitive, reached, chance, better, job)


def _repeatable(trial: PlannedTrial, result: TrialResult) -> bool:
    """Whether the attack can be applied to one more release. An attack that repeats queries cannot: a visitor
    releases a sample once."""
    if result.kind == "decoder":
        return True
    entry = attacks[trial.attack]
    keeps = issubclass(entry, AttributeAttack) and entry.keeps
    return keeps and result.kind == "attribute" and result.knowledge != "averaging"


def _fit(demonstration: Demonstration, trial: PlannedTrial, model: PlannedModel) -> FitJob:
    """The fit of the trial, from the same stored releases, that keeps what it learns."""
    plan, needs = demonstration.plan, trial.needs
    streams = {stream.id: stream for stream in plan.streams}
    probes = {probe.id: probe for probe in plan.probes}
    policies = {each.defence: each for each in plan.policies}
    auxiliary = [probes[name] for name in needs.probes["auxiliary"]]

    def identity(probe: PlannedProbe, span: Span) -> str:
        # Where and by whom it is asked is no part of its identity.
        return probe.job(model, policies[probe.defence], span, url="", account="", name="").identity()

    asked = [[identity(probe, span) for span in probe.spans] for probe in auxiliary]
    users = [
        [stream.identity(model, policies[stream.defence], span) for span in stream.spans]
        for stream in (streams[name] for name in needs.streams)
    ]
    evidence = AttributeEvidence(
        sensitive=trial.result.sensitive,
        span=Span.model_validate(needs.asked["span"]),
        auxiliary=[list(chunk) for chunk in zip(*asked, strict=True)],
        observed=[list(chunk) for chunk in zip(*users, strict=True)],
        keep=True,
    )
    return trial.job(model.release, evidence)
