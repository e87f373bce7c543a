"""From a question to a plan: which attacks are made, what they ask, and what their figures can show."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import yaml

from leakrange.assessment.advice import policies_for
from leakrange.assessment.document import AssessmentPlan, ChosenAttack, Power, Question, Thresholds
from leakrange.assessment.question import (
    AUXILIARY,
    VALIDATION,
    Counts,
    EndpointQuestion,
    counted,
    scenario_of,
)
from leakrange.data import load_labels
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.walk import WALK, WalkOrder
from leakrange.metrics.verdict import LEVEL, visible_lead
from leakrange.scenario import registered
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.partial import reads_values
from leakrange.scenario.plan import Plan
from leakrange.scenario.sizes import Sizes, split_sizes
from leakrange.wire.errors import InvalidInput, InvalidScenario

__all__ = ["null_error", "planned", "power_of"]

RATES = ((0.01, 100, "1 %"), (0.001, 1_000, "0.1 %"))
"""False positive rates, the fewest others by which they can be measured, and their names."""
ELSEWHERE = {
    "extraction": "it copies the model, and says nothing of the people behind the records",
    "audit": "it examines a model's file: 'leakrange audit model'",
    "inversion": "it draws the people whom a recogniser knows, and learns from pictures of others",
    "student": "it is for a provider who trains the model",
}
"""Kinds of attack that are not made on an endpoint, with the reason."""
NOBODY = 3.0
"""No hit among n members bounds a true positive rate by 3/n (the rule of three)."""


def planned(question: EndpointQuestion, sizes: Sizes = split_sizes) -> AssessmentPlan:
    """The plan of an audit of that endpoint.

    Every registered attack is listed with the reason where it is not made. Raises `InvalidInput` for a
    question that the data cannot answer, `DataUnavailable` where they are not here.
    """
    question = question.checked()
    counts = counted(question, sizes)
    policies = policies_for(question.target) if question.advise else {}
    chosen, parameters = [], {}
    for name, entry in sorted(registered.attacks().items()):
        if entry.control:  # it stands beside each attack
            continue
        given = _parameters(name, entry, question, counts)
        attack = _chosen(name, entry, question, counts, given, sizes)
        chosen.append(attack)
        if attack.made:
            parameters[name] = given
    if not parameters:
        reasons = "; ".join(f"{each.attack}: {each.why}" for each in chosen if each.in_scope)
        raise InvalidInput(
            f"no attack can be made on {question.target.name!r}{': ' + reasons if reasons else ''}",
            hint="give more records, or a larger --budget",
        )
    scenario = scenario_of(question, parameters, counts, policies)
    plan = expand(parse(scenario), sizes)
    uploads, asked = _uploads(plan), _asked(plan)
    limits = question.target.limits
    price, _, currency = (limits.price or "").partition(" ")
    requests = math.ceil((uploads + asked) / question.target.batch)
    return AssessmentPlan(
        name=scenario["name"],
        scenario=yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True),
        attacks=tuple(chosen),
        power=tuple(_powers(question, counts, len(parameters))),
        samples=uploads + asked,
        uploads=uploads,
        money=float(price) * (uploads + asked) if price else None,
        currency=currency,
        seconds=requests * limits.seconds_a_request,
        trained=len(plan.trained),
        thresholds=question.thresholds,
    )


def _parameters(name: str, entry: Any, question: EndpointQuestion, counts: Counts) -> dict[str, Any]:
    """What the scenario says of an attack: the records that the audit has for it, and else its defaults."""
    fields = entry.Parameters.model_fields
    knowledge = "aware" if question.advise and "aware" in entry.knowledge else entry.knowledge[0]
    given: dict[str, Any] = {"kind": name, "knowledge": [knowledge]}
    if "sensitive" in fields and question.hidden:
        hidden = list(question.hidden)
        given["sensitive"] = hidden if len(hidden) > 1 else hidden[0]
    if "auxiliary" in fields and counts.auxiliary:
        given["auxiliary"] = counts.auxiliary
    if "population" in fields and counts.population:
        given["population"] = counts.population
    if "mode" in fields:
        given["mode"] = "online"
    return given


def _chosen(
    name: str,
    entry: Any,
    question: EndpointQuestion,
    counts: Counts,
    given: Mapping[str, Any],
    sizes: Sizes,
) -> ChosenAttack:
    asks = _question_of(entry)
    left_out = _out_of_scope(name, entry, asks, question)
    attack = ChosenAttack(
        attack=name, question=asks, in_scope=not left_out, made=False, why=left_out, grants=entry.grants
    )
    if left_out:
        return attack
    try:
        plan = expand(parse(scenario_of(question, {name: given}, counts, {})), sizes)
    except InvalidScenario as error:
        return attack.model_copy(update=_refused(error))
    samples = _asked(plan)
    if samples + counts.users > question.budget:
        why = f"it asks {samples:,} samples, and users {counts.users:,}: more than the budget"
        return attack.model_copy(update={"why": why, "samples": samples})
    return attack.model_copy(update={"made": True, "samples": samples})


def _question_of(entry: Any) -> Question:
    if entry.kind in ("membership", "attribute", "reconstruction"):
        question: Question = entry.kind
        return question
    return "other"


def _out_of_scope(name: str, entry: Any, asks: Question, question: EndpointQuestion) -> str:
    """Why nobody would make the attack here, by what is known before any plan; "" where somebody would."""
    card = question.target.card
    if asks == "membership" and question.members is None:
        return "no column says who was trained on (--member)"
    if asks == "attribute" and not question.hidden:
        return "no hidden attribute was named (--hidden)"
    if entry.kind in ELSEWHERE:
        return ELSEWHERE[entry.kind]
    if asks == "reconstruction" and card.input.spec.encoding != "picture":
        return "it rebuilds pictures"
    if card.release not in entry.consumes:
        return f"it reads {' or '.join(entry.consumes)}, and the target gives {card.release}"
    if card.answers == "labels" and reads_values(entry.kind, name):
        return "it reads how sure the model is, and the target tells labels alone"
    if card.answers == "all" and asks == "membership" and entry.labels_suffice:
        return "it is made for labels alone, and the target tells how sure it is"
    return ""


def _refused(error: InvalidScenario) -> dict[str, Any]:
    """The changes to an attack that a scenario cannot have. Where it is no matter of the attack's kind, but
    of the number of records, it stays in scope."""
    [first, *_] = error.mistakes
    message = str(first["message"])
    kept_out = "can be tried on no provider" in message
    if kept_out:
        message = message.partition("endpoint: ")[2].removesuffix(")")
    elif enough := re.search(r"one of ([\d,_]+) does", message):
        message = f"it takes a budget of {int(re.sub('[,_]', '', enough[1])):,} samples or more"
    elif first["path"]:
        message = f"{str(first['path']).rpartition('.')[2]} {message}"
    return {"why": message, "in_scope": not kept_out}


def _uploads(plan: Plan) -> int:
    asked = [stream for stream in plan.streams if not stream.replays]
    return sum(span.stop - span.start for stream in asked for span in stream.spans)


def _asked(plan: Plan) -> int:
    """The samples that attackers ask, at most: each stored answer once, and what walks choose."""
    asked = sum(
        span.stop - span.start
        for probe in plan.probes
        if not probe.downloads and not probe.replays
        for span in probe.spans
    )
    walks = {
        step.model_dump_json(): WalkOrder.model_validate(step.parameters)
        for trial in plan.trials
        for step in trial.needs.steps.values()
        if step.step == WALK.name
    }
    return asked + sum(each.queries * (each.span.stop - each.span.start) for each in walks.values())


class _Sides(NamedTuple):
    about: str
    cases: int
    others: int


def _powers(question: EndpointQuestion, counts: Counts, attacks: int) -> list[Power]:
    sides = []
    if question.members is not None:
        sides.append(_Sides("membership", counts.pool // 2, counts.pool - counts.pool // 2))
    if question.hidden:
        labels = load_labels(_plain(question))
        tested = labels.where("test")[: counts.users]
        for name in question.hidden:
            classes = np.bincount(labels.labels[name][tested][labels.labels[name][tested] >= 0])
            cases = int(np.sort(classes)[-2]) if len(classes) > 1 else 0
            sides.append(_Sides(name, cases, int(classes.sum()) - cases))
    return [power_of(each.about, each.cases, each.others, attacks, question.thresholds) for each in sides]


def _plain(question: EndpointQuestion) -> DataSpec:
    return DataSpec(name=question.data, auxiliary=AUXILIARY, validation=VALIDATION, seed=question.seed)


def power_of(about: str, cases: int, others: int, attacks: int, thresholds: Thresholds) -> Power:
    """What so many records of either side can show when the strongest of so many ``attacks`` is judged.

    The standard error of an AUC without a lead is √((m + n + 1) / 12mn) (Mann and Whitney 1947). ``needed``
    is the number of cases, with as many others, by which the bound of the thresholds can be excluded.
    """
    level = LEVEL / max(1, attacks)
    visible = visible_lead(null_error(cases, others), level) if min(cases, others) > 0 else None
    needed = next(n for n in range(2, 10**6) if visible_lead(null_error(n, n), LEVEL) <= thresholds.bound)
    can_exclude = (
        min(cases, others) > 0 and visible_lead(null_error(cases, others), LEVEL) <= thresholds.bound
    )
    rates = [] if about != "membership" else [_rate(*each, cases, others) for each in RATES]
    return Power(
        about=about,
        cases=cases,
        others=others,
        visible=visible,
        enough=can_exclude,
        needed=needed,
        rates=tuple(rates),
    )


def null_error(cases: int, others: int) -> float:
    """The standard error of an AUC without a lead: √((m + n + 1) / 12mn) (Mann and Whitney 1947)."""
    return math.sqrt((cases + others + 1) / (12.0 * cases * others))


def _rate(rate: float, fewest: int, named: str, cases: int, others: int) -> str:
    """What can be said of the members that are found while so few others are accused."""
    if others < fewest:
        return (
            f"the share of members found at {named} false alarms is not measured: it takes {fewest:,} others"
        )
    bound, wanted = NOBODY / max(1, cases), math.ceil(NOBODY / rate)
    least = f"{100 * bound:.2g} %"
    more = "" if bound <= rate else f"; to go below {named} takes {wanted:,} members"
    return f"where nobody is found at {named} false alarms, at most {least} of the members can be{more}"
