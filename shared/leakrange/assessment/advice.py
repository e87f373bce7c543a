"""Policies that would stop what leaks, tried on the answers that an audit has already: nobody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from leakrange.assessment.document import Advice
from leakrange.assessment.question import EndpointQuestion
from leakrange.defences.output import Chain
from leakrange.defences.stages import name_of
from leakrange.metrics.numbers import joined
from leakrange.metrics.verdict import LEVEL
from leakrange.report.findings import Findings, Subject, utility
from leakrange.targets.target import RemoteTarget

__all__ = ["advised", "policies_for"]

POLICIES: Mapping[str, list[Any]] = {
    "two-decimals": [{"round": {"decimals": 2}}],
    "one-decimal": [{"round": {"decimals": 1}}],
    "three-classes": [{"top-k": {"k": 3}}],
    "sticky-noise": [{"noise": {"scale": 0.1, "sticky": True}}],
    "label-only": ["argmax"],
}
"""Tried in an audit that is to advise, as far as a release allows them."""


def policies_for(target: RemoteTarget) -> dict[str, list[Any]]:
    """The policies that are tried on a target, by name."""
    card = target.card
    few = {"three-classes"} if len(card.classes) <= 3 else set()
    return {
        name: chain
        for name, chain in POLICIES.items()
        if name not in few and card.answers != "labels" and Chain.parse(chain).refuse(card.release) is None
    }


def advised(findings: Findings, question: EndpointQuestion) -> tuple[Advice, ...]:
    """The policies behind which nothing that leaks does so any more, the one that costs users least first.

    Each is judged by attackers who know it, at a level that is divided by the number of policies. A policy
    that leaves labels alone is advised only where an attack that is made for labels was made.
    """
    leaking = findings.leaking()
    policies = {name: chain for name, chain in policies_for(question.target).items() if leaking}
    kept = [_advice(findings, question, leaking, *each, len(policies)) for each in policies.items()]
    return tuple(sorted((each for each in kept if each), key=lambda each: (-(each.after or 0.0), each.high)))


def _advice(
    findings: Findings,
    question: EndpointQuestion,
    leaking: Sequence[Subject],
    policy: str,
    chain: list[Any],
    policies: int,
) -> Advice | None:
    """The policy, or None where it does not meet the thresholds for all that leaks."""
    most = []
    for subject in leaking:
        verdict = findings.verdicts.get((subject, policy))
        rows = findings.tried.get((subject, policy), [])
        if verdict is None or verdict.word != "none":
            return None
        leads = [findings.reached(row) for row in rows]
        most += [each.most(LEVEL / policies) for each in leads if each.beyond is not None]
    worst = max(most)
    if worst > question.thresholds.bound:
        return None
    first = findings.best[leaking[0], policy]
    undefended = findings.open(leaking[0])
    before, after = (None if row is None else utility(row) for row in (undefended, first))
    links = " ".join(_link(each) for each in chain)
    name = question.target.name
    command = f"leakrange policies put {policy} {links} && leakrange policies bind {policy} --model {name}"
    cost = "" if before is None or after is None else _cost(before.mean, after.mean)
    about = joined([each.sensitive for each in leaking])
    return Advice(
        policy=policy,
        chain=links,
        about=tuple(each.sensitive for each in leaking),
        leaks=max(findings.way(findings.best[each, policy]) for each in leaking),
        high=worst,
        utility=None if before is None else before.mean,
        after=None if after is None else after.mean,
        command=command,
        sentence=(
            f"Put “{policy}” before the model: behind it a lead of more than {worst:.2f} over guessing is "
            f"excluded for {about}, by attackers who know of it{cost}. Attacks that choose what they ask by "
            f"earlier answers were not tried behind it: audit the model again once it stands."
        ),
    )


def _cost(before: float, after: float) -> str:
    return (
        f"; users get the right answer {100 * after:.1f} % of the time, and {100 * before:.1f} % without it"
    )


def _link(stage: Any) -> str:
    """A stage as the command takes it."""
    if isinstance(stage, str):
        return stage
    [(name, parameters)] = stage.items()
    assert name == name_of(stage)
    return f"'{name}: {yaml.safe_dump(parameters, default_flow_style=True).strip()}'"
