"""The answer of a run in a few sentences, computed from its figures."""

from __future__ import annotations

from collections.abc import Sequence

from leakrange.metrics import described
from leakrange.metrics.numbers import (
    SPACE,
    compared,
    count,
    difference,
    figure,
    interval,
    score,
    share,
    signed,
)
from leakrange.report.beyond import beyond_bounds
from leakrange.report.findings import (
    HARDLY,
    LITTLE,
    STOPS,
    Findings,
    Subject,
    Verdict,
    beside,
    chance,
    gap,
    leak,
    little,
    stops,
    utility,
    utility_metric,
)
from leakrange.report.open_scale import companions, left, no_more_than_a_label, over_honest
from leakrange.report.outdated import outdated_adversaries
from leakrange.scenario.results import Summary

__all__ = [
    "HONEST",
    "against",
    "caveats",
    "cost",
    "families",
    "kept",
    "measured",
    "named_level",
    "sentences",
]

HONEST = "the honest provider’s"
_UNMEANT = " although nobody meant it to"


def sentences(findings: Findings) -> list[str]:
    """What honest providers leak, what the others learn, and what the defences do: a sentence each.

    Where attacks are judged by several metrics, providers have one sentence for each of these. What audits
    found has a sentence of its own, and stands alone where nothing else was tried.
    """
    audited = _audited(findings)
    if audited and not any(findings.families.values()):
        return audited
    said = []
    for family in families(findings):
        tell = _honest if family == "honest" else _other
        found = [tell(findings, family, rows) for rows in measured(findings, family)]
        said += found or [_nothing(findings, family)]
    for each in findings.scales() or [findings]:
        said += [_defences(each), *_labels_alone(each)]
    return [*said, *audited]


def _audited(findings: Findings) -> list[str]:
    """What auditors made of each model, by the metric of their kind."""
    said = []
    for subject in findings.subjects:
        row = findings.open(subject)
        if subject.metric.role == "suspicion" and row is not None:
            value = figure(found.mean if (found := leak(row)) else None, subject.metric.unit)
            claim = subject.metric.claim.format(value=value, hidden=subject.sensitive)
            shares = [other for other in beside(row, subject.metric) if other.unit == "share"]
            more = "".join(f"; {each.title}: {figure(row.mean(each.name), each.unit)}" for each in shares)
            said.append(
                f"Of the model of “{findings.label(subject)}” an audit says: {claim} "
                f"({_certainty(row, subject)}{more})."
            )
    return said


Rows = list[tuple[Subject, Summary]]


def families(findings: Findings) -> list[str]:
    """The honest family and all others; "curious" where there is no other, so that the text says so."""
    others = [family for family in findings.families if family != "honest"]
    return ["honest", *(others or ["curious"])]


def measured(findings: Findings, family: str) -> list[Rows]:
    """For each metric the subjects with a figure for their undefended outputs, the one that leaks most (by
    its gap) first."""
    found: dict[str, Rows] = {}
    for subject in findings.families.get(family, []):
        row = findings.open(subject)
        if row is not None:
            found.setdefault(subject.leakage, []).append((subject, row))
    return [sorted(rows, key=lambda pair: gap(pair[1]) or 0.0, reverse=True) for rows in found.values()]


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _certainty(row: Summary, subject: Subject) -> str:
    found = leak(row)
    if found is None or found.interval is None:
        return "one seed, so no interval" if row.count == 1 else "no interval"
    percent = f"{SPACE}%" if subject.metric.unit == "share" else ""
    bounds = interval(found.interval, subject.metric.unit)
    return f"95 % interval {bounds}{percent}, {count(row.count, 'seed')}"


def named_level(row: Summary, subject: Subject) -> str:
    """The chance level with its name: "the majority class of 52.0 %"."""
    level = figure(chance(row), subject.metric.unit)
    named = subject.metric.chance
    return f"the {described(named).title} of {level}" if isinstance(named, str) else f"the chance of {level}"


def against(row: Summary, subject: Subject) -> str:
    """How far the attack is from the chance level, and whether its interval excludes that."""
    level, found, distance = chance(row), leak(row), gap(row)
    if level is None or distance is None:
        return "with no chance level known"
    bounds = found.interval if found else None
    open_end = bounds is not None and bounds[0] <= level <= bounds[1]
    doubt = ", which its interval does not exclude" if open_end else ""
    towards = distance if subject.metric.higher else -distance
    return compared(towards, named_level(row, subject), subject.metric.unit) + doubt


def _reached(row: Summary, subject: Subject) -> str:
    """Who found out what: "the strongest attack (…) guesses “loop” right 97.8 % of the time (…)"."""
    metric, found = subject.metric, leak(row)
    claim = metric.claim or "reaches {value} of " + metric.title + " on “{hidden}”"
    value = figure(found.mean if found else None, metric.unit)
    said = claim.format(value=value, hidden=subject.sensitive)
    who = f"the strongest attack ({row.attack}, {row.knowledge}, budget {row.budget:,})"
    more = companions(row, subject)
    certain = f"{more}; {_certainty(row, subject)}" if more else _certainty(row, subject)
    return f"{who} {said} ({certain}), {against(row, subject)}"


def _nothing(findings: Findings, family: str) -> str:
    """Why nothing can be said about providers of that family."""
    if not findings.families.get(family):
        return f"The scenario attacks no {family} provider, so nothing is said about one."
    if findings.undefended is None:
        return f"What {family} providers leak undefended was not measured: no defence has an empty chain."
    return (
        f"What {family} providers leak is not known yet: no attack on their undefended outputs has finished."
    )


def _honest(findings: Findings, _family: str, rows: Rows) -> str:
    subject, row = rows[0]
    name = f"“{findings.label(subject)}”"
    distance = gap(row)
    how = "" if distance is None else " little" if distance <= little(subject.metric) else _UNMEANT
    who = (
        f"The honest provider {name} leaks{how}: from"
        if len(rows) == 1
        else f"Honest providers leak{how}, even the most exposed of {len(rows)}, {name}: from"
    )
    return f"{who} its undefended outputs {_reached(row, subject)}."


def _other(findings: Findings, family: str, rows: Rows) -> str:
    subject, row = rows[0]
    name = f"“{findings.label(subject)}”"
    distance = gap(row)
    succeeds = distance is None or distance > little(subject.metric)
    if len(rows) == 1:
        learns = "learns what it should not" if succeeds else "hardly learns what it should not"
        who = f"The {family} provider {name} {learns}"
    else:
        learn = "learn" if succeeds else "hardly learn"
        who = f"{family.capitalize()} providers {learn} what they should not, most of all {name}"
    said = f"{who}: {_reached(row, subject)}{over_honest(findings, subject, row)}"
    gains = [value for _, each in rows if (value := findings.gain(each)) is not None]
    own = findings.gain(row)
    if own is not None:
        said += f", a normalised gain of {score(own)}"
        if len(gains) > 1:
            said += f" (over all {len(rows)}: {score(min(gains))} to {score(max(gains))})"
    return f"{said}{_price(findings, rows)}."


def _price(findings: Findings, rows: Rows) -> str:
    """What users get from the worst of these providers, against an honest one."""
    subject, row = rows[0]
    metric, found = utility_metric(row), utility(row)
    if metric is None or found is None:
        return ", at a utility that was not measured"
    said = f", at {_article(metric.title)} of {figure(found.mean, metric.unit)}"
    reference = findings.reference(subject)
    less = findings.utility_difference(row, reference) if reference else None
    if less is None:
        return said + ", with no honest provider of the same task to compare it with"
    said += f", {compared(less.mean, HONEST, metric.unit)}"
    others = [
        other.mean
        for each, each_row in rows
        if (honest := findings.reference(each)) and (other := findings.utility_difference(each_row, honest))
    ]
    if len(others) > 1 and metric.unit == "share":
        said += f" (over all: {signed(min(others))} to {signed(max(others))}{SPACE}points)"
    return said


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0].lower() in "aeiouh" else f"a {noun}"


def _defences(findings: Findings) -> str:
    if findings.undefended is None:
        return (
            "What the defences change cannot be told without an undefended case (a defence with an empty "
            "chain) beside them."
        )
    if all(defence == findings.undefended for defence in findings.defences):
        return "No defence was tried."
    leaking = findings.leaking()
    if not leaking:
        rows = [row for each in findings.subjects if (row := findings.open(each))]
        if rows and all(gap(row) is None for row in rows):
            title = findings.subjects[0].metric.title
            return f"What the defences change cannot be told: no chance level of {title} was measured."
        if rows:
            metric = findings.subjects[0].metric
            far = (
                difference(little(metric), metric.unit)
                if metric.best is None
                else f"{100 * LITTLE:.0f} points"
            )
            return (
                f"No provider’s undefended outputs leak more than {far} above chance, so no defence had "
                "anything to stop."
            )
        return "What the defences change is not known yet."
    verdicts = findings.verdicts()
    if not verdicts:
        return "What the defences change is not known yet: none has finished on a provider that leaks."
    parts: list[str] = []
    for effect, one, many in (
        ("stops", "stops", "stop"),
        ("weakens", "weakens", "weaken"),
        ("hardly", "hardly changes", "hardly change"),
    ):
        chosen = [verdict for verdict in verdicts if verdict.effect == effect]
        if chosen:
            object_ = "the leak" if not parts else "it"
            if len(chosen) == 1:
                parts.append(f"{chosen[0].defence} {one} {object_} ({_effect(chosen[0], len(leaking))})")
            else:
                parts.append(
                    _joined([f"{verdict.defence} ({_effect(verdict, len(leaking))})" for verdict in chosen])
                    + f" {many} {object_}"
                )
    leaks, providers = len(leaking), len({subject.provider for subject in leaking})
    who = "the one provider that leaks" if leaks == 1 else f"the {leaks} providers that leak"
    if providers < leaks:  # one may hide several attributes
        who = f"the {leaks} leaks of {count(providers, 'provider')}"
    return f"On {who} without a defence, " + "; ".join(parts) + "."


def _labels_alone(findings: Findings) -> list[str]:
    """Which defences leave nothing but the decision, in a sentence; none where none does."""
    found = no_more_than_a_label(findings)
    if not found:
        return []
    return [
        f"Under {_joined(found)} the strongest attack does no better than somebody who sees the "
        "decisions alone."
    ]


def _effect(verdict: Verdict, leaking: int) -> str:
    if said := left(verdict):
        pass
    elif verdict.effect == "stops":
        at_most = "nowhere" if verdict.worst <= 0 else f"at most {difference(verdict.worst, 'share')}"
        said = f"{at_most} {verdict.beyond}"
    else:
        said = f"the attack keeps {kept(verdict)} of its gain"
    partly = f", measured on {verdict.subjects} of {leaking}" if verdict.subjects < leaking else ""
    return said + cost(verdict) + partly


def cost(verdict: Verdict) -> str:
    """What a defence costs users, as the end of a sentence; "" where it was not measured."""
    if verdict.cost is None:
        return ""
    if verdict.cost == 0:
        return f", at no cost in {verdict.utility}"
    size = difference(verdict.cost, "share")
    if verdict.cost < 0:
        return f", at a cost of {size} of {verdict.utility}"
    return f", with {size} more of {verdict.utility}"


def kept(verdict: Verdict) -> str:
    """How much of its gain the attack keeps: "81.0 to 97.2 %"."""
    low, high = (share(value) for value in verdict.kept)
    return f"{low} %" if low == high else f"{low} to {high} %"


def caveats(findings: Findings) -> list[str]:
    """What the words of the sentences mean and what limits their certainty."""
    said = [
        f"“Little” means at most {100 * LITTLE:.0f} points beyond the chance level (of accuracies the "
        f"majority class); a defence “stops” a leak when no attack is more than {100 * STOPS:.0f} points "
        f"beyond it, and “hardly changes” it when every attack keeps {100 * HARDLY:.0f} % or more of its "
        "normalised gain. "
        f"{_decibels(findings)}"
        "Attacks are the strongest of those that were run: a stronger one may exist."
    ]
    seeds = len({trial.seed for trial in findings.results.trials if trial.state == "done"})
    if seeds == 1:
        said.append(
            "There is one seed only: how much the figures vary from training to training is not known."
        )
    elif seeds == 2:
        said.append(
            "There are two seeds only: the 95 % intervals (Student’s t, one degree of freedom) are very wide."
        )
    return [*said, *beyond_bounds(findings), *outdated_adversaries(findings)]


def _decibels(findings: Findings) -> str:
    """The same limits where the leakage is in decibels."""
    metric = next((each.metric for each in findings.subjects if each.metric.unit == "dB"), None)
    if metric is None:
        return ""
    far, near = difference(little(metric), metric.unit), difference(stops(metric), metric.unit)
    return (
        f"Of the {metric.title} these limits are {far} and {near} beyond chance, and {100 * HARDLY:.0f} % of "
        "the distance from it. "
    )
