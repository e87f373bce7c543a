"""The effects of the defences on what leaks without one: their size with its certainty, and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from leakrange.metrics.numbers import count, difference, joined, share, titled
from leakrange.metrics.verdict import LeakVerdict
from leakrange.report.findings import Findings, Subject, gap, leaked, utility_metric
from leakrange.report.open_scale import companions, no_more_than_a_label
from leakrange.scenario.gains import control_of
from leakrange.scenario.results import Summary

__all__ = ["HARDLY", "Effect", "cost", "defence_sentences", "effects", "left", "remainder"]

HARDLY = 0.9
"""A defence hardly changes anything when the attack keeps at least this share of its way beyond chance."""
Kind = Literal["stops", "weakens", "hardly", "unclear"]
Pair = tuple[Summary, Summary, LeakVerdict]
"""The strongest attack on a subject without and with a defence, and the verdict with it."""


@dataclass(frozen=True)
class Effect:
    """The effect of one defence on the subjects that leak without it.

    ``kind``: the defence stops the leak where none is found under it, with certainty; it hardly changes it
    where the strongest attack keeps nearly all of its way beyond chance; it weakens it where some attack has
    lost part of that with certainty; else the effect is unclear. ``kept`` is the least and the greatest share
    of its way that the strongest attack keeps (1 is all of it), ``worst`` the most that leaks, in shares, and
    ``cost`` the mean change of utility, a share. ``leaks``: whether some subject still leaks with certainty.
    ``utility`` is the title of the metric of ``cost``, such as honesty. ``most`` is the strongest attack
    without and with the defence on the subject that leaks most with it.
    """

    defence: str
    kind: Kind
    kept: tuple[float, float]
    worst: float | None
    cost: float | None
    subjects: int
    leaks: bool
    utility: str
    most: tuple[Summary, Summary]


def effects(findings: Findings) -> list[Effect]:
    """The effect of each defence on the subjects that leak; defences without common figures are left out."""
    found = (_effect(findings, name) for name in findings.defences if name != findings.undefended)
    return [effect for effect in found if effect is not None]


def _effect(findings: Findings, defence: str) -> Effect | None:
    pairs = [
        (before, after, findings.verdicts[subject, defence])
        for subject in findings.leaking()
        if (before := findings.open(subject)) and (after := findings.best.get((subject, defence)))
    ]
    if not pairs:
        return None
    ways = [(findings.way(before), findings.way(after)) for before, after, _ in pairs]
    kept = [now / was if was > 0 else 1.0 for was, now in ways]
    changes = [findings.utility_difference(after, before) for before, after, _ in pairs]
    costs = [change.mean for change in changes if change]
    served = {metric.title for _, after, _ in pairs if (metric := utility_metric(after)) is not None}
    bounds = [verdict.most for *_, verdict in pairs]
    most = pairs[max(range(len(pairs)), key=lambda place: ways[place][1])]
    return Effect(
        defence,
        _kind(findings, pairs, min(kept)),
        (min(kept), max(kept)),
        None if None in bounds else max(each for each in bounds if each is not None),
        sum(costs) / len(costs) if costs else None,
        len(kept),
        any(verdict.word == "leaks" for *_, verdict in pairs),
        served.pop() if len(served) == 1 else "utility",
        most[:2],
    )


def _kind(findings: Findings, pairs: list[Pair], kept: float) -> Kind:
    words = {verdict.word for *_, verdict in pairs}
    if words == {"none"}:
        return "stops"
    if "leaks" in words and kept >= HARDLY:
        return "hardly"
    weaker = any(
        verdict.word == "none" or _weaker(findings, before, after) for before, after, verdict in pairs
    )
    return "weakens" if weaker else "unclear"


def _weaker(findings: Findings, before: Summary, after: Summary) -> bool:
    """Whether the second certainly goes less far than the first."""
    first, second = findings.reached(before).beyond, findings.reached(after).beyond
    if first is None or second is None:
        return False
    low, high = first.within()[0], second.within()[1]
    return first.mean - second.mean > math.hypot(first.mean - low, high - second.mean)


def defence_sentences(findings: Findings) -> list[str]:
    """What the defences change, and which of them leave nothing but the decision."""
    sentences = [_changes(findings)]
    if alone := no_more_than_a_label(findings):
        sentences.append(
            f"Under {joined(alone)} the strongest attack does no better than somebody who sees the "
            "decisions alone."
        )
    return sentences


def _changes(findings: Findings) -> str:
    if findings.undefended is None:
        return (
            "What the defences change cannot be told without an undefended case (a defence with an empty "
            "chain) beside them."
        )
    if all(defence == findings.undefended for defence in findings.defences):
        return "No defence was tried."
    leaking = findings.leaking()
    if not leaking:
        return _nothing_to_stop(findings)
    every = effects(findings)
    if not every:
        return "What the defences change is not known yet: none has finished on a provider that leaks."
    parts: list[str] = []
    for kind, doubt, one, many in (
        ("stops", "", "stops", "stop"),
        ("weakens", "", "weakens", "weaken"),
        ("hardly", "", "hardly changes", "hardly change"),
        ("unclear", "it cannot be told whether ", "changes", "change"),
    ):
        chosen = [effect for effect in every if effect.kind == kind]
        object_, sizes = "it" if parts else "the leak", [_size(effect, len(leaking)) for effect in chosen]
        if len(chosen) == 1:
            parts.append(f"{doubt}{chosen[0].defence} {one} {object_} ({sizes[0]})")
        elif chosen:
            names = [f"{effect.defence} ({size})" for effect, size in zip(chosen, sizes, strict=True)]
            parts.append(f"{doubt}{joined(names)} {many} {object_}")
    leaks, providers = len(leaking), len({subject.provider for subject in leaking})
    who = "the one provider that leaks" if leaks == 1 else f"the {leaks} providers that leak"
    if providers < leaks:  # one may hide several attributes
        who = f"the {leaks} leaks of {count(providers, 'provider')}"
    several = len({subject.leakage for subject, _ in findings.tried}) > 1
    by = f" (by {leaking[0].metric.title})" if several else ""
    return f"On {who} without a defence{by}, " + "; ".join(parts) + "."


def _nothing_to_stop(findings: Findings) -> str:
    """The reason why no defence is said to change anything, where no provider leaks without one."""
    rows = [row for each in findings.subjects if (row := findings.open(each))]
    if not rows:
        return "What the defences change is not known yet."
    if all(gap(row) is None for row in rows):
        title = findings.subjects[0].metric.title
        return f"What the defences change cannot be told: no chance level of {title} was measured."
    words = [verdict.word for each in findings.subjects if (verdict := findings.verdict(each))]
    if "unclear" in words:
        return (
            "What the defences change cannot be told, since it is not certain that anything leaks without "
            "one."
        )
    return "No leak was found without a defence, so no defence had anything to stop."


def _size(effect: Effect, leaking: int) -> str:
    """The size of an effect on some of so many ``leaking`` subjects, with its cost."""
    text = remainder(effect)
    if not left(effect):
        metric = Subject.of(effect.most[1]).metric
        if effect.kind == "stops" and effect.worst is not None:
            text = f"at most {difference(effect.worst * metric.scale, metric.unit)} beyond {_zero(effect)}"
        elif not effect.leaks:
            text += ", which may be luck"
    partly = f", measured on {effect.subjects} of {leaking}" if effect.subjects < leaking else ""
    return text + cost(effect) + partly


def remainder(effect: Effect) -> str:
    """The part of the leak that a defence leaves: "the attack keeps 81.0 to 97.2 % of its lead over chance",
    or as `left` says."""
    low, high = (share(value) for value in effect.kept)
    kept = low if low == high else f"{low} to {high}"
    return left(effect) or f"the attack keeps {kept} % of its lead over {_zero(effect)}"


def _zero(effect: Effect) -> str:
    """What leads are measured from: see `leakrange.scenario.gains.reached`."""
    return "chance" if control_of(effect.most) is None else "its control"


def left(effect: Effect) -> str:
    """The leak that a defence leaves to the strongest attack, and its distance below the undefended case; ""
    where the metric has a best value."""
    before, after = effect.most
    metric = Subject.of(after).metric
    if metric.best is not None:
        return ""
    change = leaked(after) - leaked(before)
    more = companions(after, Subject.of(after))
    most = " at most" if effect.subjects > 1 else ""
    way = "less" if change < 0 else "more"
    lower = f"{difference(change, metric.unit)} {way}" if change else "as without it"
    value = titled(metric, leaked(after)) + (f" and {more}" if more else "")
    return f"leaves {value}{most}, {lower}"


def cost(effect: Effect) -> str:
    """The cost of a defence for users, as the end of a sentence; "" where it was not measured."""
    if effect.cost is None:
        return ""
    if effect.cost == 0:
        return f", at no cost in {effect.utility}"
    size = difference(effect.cost, "share")
    if effect.cost < 0:
        return f", at a cost of {size} of {effect.utility}"
    return f", with {size} more of {effect.utility}"
