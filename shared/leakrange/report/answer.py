"""The answer of a run in three sentences and a few tiles, computed from its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
from leakrange.report.findings import (
    HARDLY,
    LITTLE,
    STOPS,
    Findings,
    Subject,
    Verdict,
    chance,
    gap,
    leak,
    utility,
    utility_metric,
)
from leakrange.scenario.results import Summary

__all__ = ["Tile", "caveats", "sentences", "tiles"]


_HONEST = "the honest provider’s"


@dataclass(frozen=True)
class Tile:
    """One key figure: what it is, the figure, and what it is to be compared with."""

    label: str
    figure: str
    beside: str
    tone: Literal["plain", "good", "bad"] = "plain"


def sentences(findings: Findings) -> list[str]:
    """What honest providers leak, what the others learn, and what the defences do: a sentence each.

    Where attacks are judged by several metrics, providers have one sentence for each of these.
    """
    said = []
    for family in _families(findings):
        measured = _measured(findings, family)
        tell = _honest if family == "honest" else _other
        said += [tell(findings, family, rows) for rows in measured] or [_nothing(findings, family)]
    return [*said, _defences(findings)]


Rows = list[tuple[Subject, Summary]]


def _families(findings: Findings) -> list[str]:
    """The honest family and all others; "curious" where there is no other, so that the text says so."""
    others = [family for family in findings.families if family != "honest"]
    return ["honest", *(others or ["curious"])]


def _measured(findings: Findings, family: str) -> list[Rows]:
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


def _level(row: Summary, subject: Subject) -> str:
    """The chance level with its name: "the majority class of 52.0 %"."""
    level = figure(chance(row), subject.metric.unit)
    named = subject.metric.chance
    return f"the {described(named).title} of {level}" if isinstance(named, str) else f"the chance of {level}"


def _against(row: Summary, subject: Subject) -> str:
    level, found, distance = chance(row), leak(row), gap(row)
    if level is None or distance is None:
        return "with no chance level known"
    bounds = found.interval if found else None
    open_end = bounds is not None and bounds[0] <= level <= bounds[1]
    doubt = ", which its interval does not exclude" if open_end else ""
    towards = distance if subject.metric.higher else -distance
    return compared(towards, _level(row, subject), subject.metric.unit) + doubt


def _reached(row: Summary, subject: Subject) -> str:
    """Who found out what: "the strongest attack (…) guesses “loop” right 97.8 % of the time (…)"."""
    metric, found = subject.metric, leak(row)
    claim = metric.claim or "reaches {value} of " + metric.title + " on “{hidden}”"
    value = figure(found.mean if found else None, metric.unit)
    said = claim.format(value=value, hidden=subject.sensitive)
    who = f"the strongest attack ({row.attack}, {row.knowledge}, budget {row.budget:,})"
    return f"{who} {said} ({_certainty(row, subject)}), {_against(row, subject)}"


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
    how = "little" if (gap(row) or 0.0) <= LITTLE else "although nobody meant it to"
    who = (
        f"The honest provider {name} leaks {how}: from"
        if len(rows) == 1
        else f"Honest providers leak {how}, even the most exposed of {len(rows)}, {name}: from"
    )
    return f"{who} its undefended outputs {_reached(row, subject)}."


def _other(findings: Findings, family: str, rows: Rows) -> str:
    subject, row = rows[0]
    name = f"“{findings.label(subject)}”"
    succeeds = (gap(row) or 0.0) > LITTLE
    if len(rows) == 1:
        learns = "learns what it should not" if succeeds else "hardly learns what it should not"
        who = f"The {family} provider {name} {learns}"
    else:
        learn = "learn" if succeeds else "hardly learn"
        who = f"{family.capitalize()} providers {learn} what they should not, most of all {name}"
    said = f"{who}: {_reached(row, subject)}"
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
    said += f", {compared(less.mean, _HONEST, metric.unit)}"
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
        if any(findings.open(subject) for subject in findings.subjects):
            return (
                f"No provider’s undefended outputs leak more than {100 * LITTLE:.0f} points above "
                "chance, so no defence had anything to stop."
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


def _effect(verdict: Verdict, leaking: int) -> str:
    if verdict.effect == "stops":
        at_most = "nowhere" if verdict.worst <= 0 else f"at most {difference(verdict.worst, 'share')}"
        said = f"{at_most} {verdict.beyond}"
    else:
        said = f"the attack keeps {_kept(verdict)} of its gain"
    partly = f", measured on {verdict.subjects} of {leaking}" if verdict.subjects < leaking else ""
    return said + _cost(verdict) + partly


def _cost(verdict: Verdict) -> str:
    if verdict.cost is None:
        return ""
    if verdict.cost == 0:
        return f", at no cost in {verdict.utility}"
    size = difference(verdict.cost, "share")
    if verdict.cost < 0:
        return f", at a cost of {size} of {verdict.utility}"
    return f", with {size} more of {verdict.utility}"


def _kept(verdict: Verdict) -> str:
    low, high = (share(value) for value in verdict.kept)
    return f"{low} %" if low == high else f"{low} to {high} %"


def caveats(findings: Findings) -> list[str]:
    """What the words of the sentences mean and what limits their certainty."""
    said = [
        f"“Little” means at most {100 * LITTLE:.0f} points beyond the chance level (of accuracies the "
        f"majority class); a defence “stops” a leak when no attack is more than {100 * STOPS:.0f} points "
        f"beyond it, and “hardly changes” it when every attack keeps {100 * HARDLY:.0f} % or more of its "
        "normalised gain. "
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
    return said


def tiles(findings: Findings) -> list[Tile]:
    """The key figures, as far as they were measured."""
    made: list[Tile] = []
    for rows in _measured(findings, "honest"):
        subject, row = rows[0]
        distance, unit = gap(row) or 0.0, subject.metric.unit
        tone: Literal["good", "bad"] = "good" if distance <= LITTLE else "bad"
        side = "above" if (distance >= 0) == subject.metric.higher else "below"
        beside = (
            f"{side} {_level(row, subject)}: “{subject.sensitive}” at {findings.label(subject)}, "
            "the most exposed"
        )
        made.append(Tile("Honest outputs leak", difference(distance, unit), beside, tone))
    for family in _families(findings)[1:]:
        for rows in _measured(findings, family):
            made += [_inferred(findings, family, *rows[0]), *_honesty(findings, *rows[0])]
    verdicts = [verdict for verdict in findings.verdicts() if findings.leaking()]
    if verdicts:
        best, worst = min(verdicts, key=lambda v: v.kept[1]), max(verdicts, key=lambda v: v.kept[0])
        label = "Strongest defence" if worst is not best else "The one defence measured"
        made.append(_defence(label, best, "good" if best.effect == "stops" else "plain"))
        if worst is not best:
            made.append(_defence("Weakest defence", worst, "bad" if worst.effect == "hardly" else "plain"))
    return [*made, *_work(findings)]


def _inferred(findings: Findings, family: str, subject: Subject, row: Summary) -> Tile:
    found, metric = leak(row), subject.metric
    tone: Literal["good", "bad"] = "bad" if (gap(row) or 0.0) > LITTLE else "good"
    beside = f"{metric.title} of “{subject.sensitive}” at {findings.label(subject)}, {_against(row, subject)}"
    label = f"{family.capitalize()} provider learns"
    return Tile(label, figure(found.mean if found else None, metric.unit), beside, tone)


def _honesty(findings: Findings, subject: Subject, row: Summary) -> list[Tile]:
    metric, found = utility_metric(row), utility(row)
    if metric is None or found is None:
        return []
    reference = findings.reference(subject)
    less = findings.utility_difference(row, reference) if reference else None
    beside = f"{metric.title}, of “{subject.target}”"
    if less is not None:
        beside += f", {compared(less.mean, _HONEST, metric.unit)}"
    return [Tile("While users get", figure(found.mean, metric.unit), beside)]


def _defence(label: str, verdict: Verdict, tone: Literal["plain", "good", "bad"]) -> Tile:
    return Tile(
        label, verdict.defence, f"the attack keeps {_kept(verdict)} of its gain{_cost(verdict)}", tone
    )


def _work(findings: Findings) -> list[Tile]:
    trials = findings.results.trials
    states = [trial.state for trial in trials]
    rest = [
        f"{states.count(state)} {word}"
        for state, word in (
            ("failed", "failed"),
            ("running", "running"),
            ("queued", "waiting"),
            ("cancelled", "cancelled"),
        )
        if state in states
    ]
    done = states.count("done")
    parts = [count(len({trial.seed for trial in trials}), "seed"), *rest]
    spent = [row["spent"] for row in findings.results.ledger if isinstance(row.get("spent"), int)]
    if spent:
        parts.append(f"{count(sum(spent), 'sample')} answered on {count(len(spent), 'API key')}")
    figure = f"{done:,}" if done == len(states) else f"{done:,} of {len(states):,}"
    return (
        [Tile("Trials finished", figure, ", ".join(parts), "bad" if "failed" in states else "plain")]
        if trials
        else []
    )
