"""The answer of a run in three sentences and a few tiles, made from the figures and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leakrange.report.findings import HARDLY, LITTLE, STOPS, Findings, Subject, Verdict, gap
from leakrange.report.numbers import SPACE, compared, count, interval, percent, points, share, signed, unit
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
    """Three sentences: what honest providers leak, what curious ones learn, what the defences do."""
    return [_honest(findings), _curious(findings), _defences(findings)]


def _measured(findings: Findings, *, honest: bool) -> list[tuple[Subject, Summary]]:
    """Subjects with a figure for their undefended outputs, the one that leaks most (by its gap) first."""
    rows = [
        (s, row) for s in findings.subjects if s.honest == honest and (row := findings.open(s)) is not None
    ]
    return sorted(rows, key=lambda pair: gap(pair[1]) or 0.0, reverse=True)


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _certainty(row: Summary) -> str:
    bounds = row.curiosity[2] if row.curiosity else None
    if bounds is None:
        return "one seed, so no interval" if row.count == 1 else "no interval"
    return f"95 % interval {interval(bounds, of_percent=True)} %, {count(row.count, 'seed')}"


def _guess(row: Summary) -> str:
    value = row.curiosity[0] if row.curiosity else None
    return f"{percent(value)} of the time ({_certainty(row)})"


def _against(row: Summary) -> str:
    if row.majority is None:
        return "with no majority class known"
    bounds = row.curiosity[2] if row.curiosity else None
    open_end = bounds is not None and bounds[0] <= row.majority <= bounds[1]
    doubt = ", which its interval does not exclude" if open_end else ""
    return compared(gap(row) or 0.0, f"the majority class of {percent(row.majority)}") + doubt


def _attack(row: Summary) -> str:
    return f"the strongest attack ({row.attack}, {row.knowledge}, budget {row.budget:,})"


def _nothing(findings: Findings, kind: Literal["honest", "curious"]) -> str:
    """Why nothing can be said about providers of that kind."""
    if not any(subject.honest == (kind == "honest") for subject in findings.subjects):
        return f"The scenario attacks no {kind} provider, so nothing is said about one."
    if findings.undefended is None:
        return f"What {kind} providers leak undefended was not measured: no defence has an empty chain."
    return f"What {kind} providers leak is not known yet: no attack on their undefended outputs has finished."


def _honest(findings: Findings) -> str:
    rows = _measured(findings, honest=True)
    if not rows:
        return _nothing(findings, "honest")
    subject, row = rows[0]
    name = findings.label(subject)
    how = "little" if (gap(row) or 0.0) <= LITTLE else "although nobody meant it to"
    who = (
        f"The honest provider {name} leaks {how}: from"
        if len(rows) == 1
        else f"Honest providers leak {how}, even the most exposed of {len(rows)}, {name}: from"
    )
    guess = f"guesses “{subject.sensitive}” right {_guess(row)}"
    return f"{who} its undefended outputs {_attack(row)} {guess}, {_against(row)}."


def _curious(findings: Findings) -> str:
    rows = _measured(findings, honest=False)
    if not rows:
        return _nothing(findings, "curious")
    subject, row = rows[0]
    name = findings.label(subject)
    succeeds = (gap(row) or 0.0) > LITTLE
    if len(rows) == 1:
        who = (
            f"The curious provider {name} "
            + ("learns what it should not" if succeeds else "hardly learns what it should not")
            + ": it infers"
        )
    else:
        who = "Curious providers " + ("learn" if succeeds else "hardly learn")
        who += f" what they should not, most of all {name}, which infers"
    what = f" “{subject.sensitive}” right {_guess(row)}, {_against(row)}, a normalised gain of "
    gains = [r.nag[0] for _, r in rows if r.nag]
    what += unit(row.nag[0] if row.nag else None)
    if len(rows) > 1 and gains:
        what += f" (over all {len(rows)}: {unit(min(gains))} to {unit(max(gains))})"
    return f"{who}{what}{_price_of_curiosity(findings, rows)}."


def _price_of_curiosity(findings: Findings, rows: list[tuple[Subject, Summary]]) -> str:
    subject, row = rows[0]
    if row.honesty is None:
        return ", at an honesty that was not measured"
    said = f", at an honesty of {percent(row.honesty[0])}"
    reference = findings.reference(subject)
    difference = findings.honesty_difference(row, reference) if reference else None
    if difference is None:
        return said + ", with no honest provider of the same task to compare it with"
    said += f", {compared(difference[0], _HONEST)}"
    others = [
        other[0]
        for each, each_row in rows
        if (honest := findings.reference(each)) and (other := findings.honesty_difference(each_row, honest))
    ]
    if len(others) > 1:
        said += f" (over all: {signed(min(others))} to {signed(max(others))}{SPACE}points)"
    return said


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
                f"No provider’s undefended outputs leak more than {100 * LITTLE:.0f} points above the "
                "majority class, so no defence had anything to stop."
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
    who = "the one provider that leaks" if len(leaking) == 1 else f"the {len(leaking)} providers that leak"
    return f"On {who} without a defence, " + "; ".join(parts) + "."


def _effect(verdict: Verdict, leaking: int) -> str:
    if verdict.effect == "stops":
        at_most = "nowhere" if verdict.worst <= 0 else f"at most {points(verdict.worst)}"
        said = f"{at_most} above the majority class"
    else:
        said = f"the attack keeps {_kept(verdict)} of its gain"
    partly = f", measured on {verdict.subjects} of {leaking}" if verdict.subjects < leaking else ""
    return said + _cost(verdict) + partly


def _cost(verdict: Verdict) -> str:
    if verdict.cost is None:
        return ""
    if verdict.cost == 0:
        return ", at no cost in honesty"
    return f", at a {'cost' if verdict.cost < 0 else 'gain'} of {points(verdict.cost)} of honesty"


def _kept(verdict: Verdict) -> str:
    low, high = (share(value) for value in verdict.kept)
    return f"{low} %" if low == high else f"{low} to {high} %"


def caveats(findings: Findings) -> list[str]:
    """What the words of the sentences mean and what limits their certainty."""
    said = [
        f"“Little” means at most {100 * LITTLE:.0f} points above the majority class; a defence “stops” a "
        f"leak when no attack is more than {100 * STOPS:.0f} points above it, and “hardly changes” it when "
        f"every attack keeps {100 * HARDLY:.0f} % or more of its normalised gain. "
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
    for subject, row in _measured(findings, honest=True)[:1]:
        distance = gap(row) or 0.0
        tone: Literal["good", "bad"] = "good" if distance <= LITTLE else "bad"
        side = "above" if distance >= 0 else "below"
        beside = (
            f"{side} the majority class ({percent(row.majority)}): “{subject.sensitive}” guessed from "
            f"{findings.label(subject)}, the most exposed"
        )
        made.append(Tile("Honest outputs leak", points(distance), beside, tone))
    for subject, row in _measured(findings, honest=False)[:1]:
        made.append(_inferred(findings, subject, row))
        made += _honesty(findings, subject, row)
    verdicts = [verdict for verdict in findings.verdicts() if findings.leaking()]
    if verdicts:
        best, worst = min(verdicts, key=lambda v: v.kept[1]), max(verdicts, key=lambda v: v.kept[0])
        label = "Strongest defence" if worst is not best else "The one defence measured"
        made.append(_defence(label, best, "good" if best.effect == "stops" else "plain"))
        if worst is not best:
            made.append(_defence("Weakest defence", worst, "bad" if worst.effect == "hardly" else "plain"))
    return [*made, *_work(findings)]


def _inferred(findings: Findings, subject: Subject, row: Summary) -> Tile:
    figure = percent(row.curiosity[0] if row.curiosity else None)
    tone: Literal["good", "bad"] = "bad" if (gap(row) or 0.0) > LITTLE else "good"
    majority = f"majority class {percent(row.majority)}"
    beside = f"of “{subject.sensitive}” inferred by {findings.label(subject)} ({majority})"
    return Tile("Curious provider learns", figure, beside, tone)


def _honesty(findings: Findings, subject: Subject, row: Summary) -> list[Tile]:
    reference = findings.reference(subject)
    difference = findings.honesty_difference(row, reference) if reference else None
    if row.honesty is None:
        return []
    beside = f"of “{subject.target}” decided right"
    if difference is not None:
        beside += f", {compared(difference[0], _HONEST)}"
    return [Tile("While it is honest", percent(row.honesty[0]), beside)]


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
