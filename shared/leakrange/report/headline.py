"""The first sentence of a run: who gives away what, which defence stops it at what cost, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leakrange.attacks.kinds import kinds, leakage_of
from leakrange.metrics.numbers import difference, joined, titled
from leakrange.metrics.verdict import Grade, LeakVerdict, Word, grade
from leakrange.report.effects import Effect, effects
from leakrange.report.findings import Findings, Subject, gap, leaked
from leakrange.scenario import labels
from leakrange.scenario.gains import control_of

__all__ = ["Headline", "grade_of", "headline", "hidden_things", "thing", "unknown_to_all"]

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
HELPS = {
    "constant": "give attackers larger budgets, or try other kinds of attack, since these learnt nothing",
    "no interval": "run it with more seeds",
    "seeds": "run it with more seeds, since these disagree",
    "wide": "run it with more users",
    "labels": "add an attack that is made for labels alone: label-votes, oslo or boundary",
}
"""What would help where nothing can be told, by the reason."""


@dataclass(frozen=True)
class Headline:
    """``word`` is the verdict over all providers without a defence: *leaks* if one leaks, *none* if no leak
    was found at any, else *unclear*. None where nothing was tried on undefended answers."""

    word: Word | None
    sentence: str
    recommendation: str


def headline(findings: Findings) -> Headline:
    """The first sentence and the recommendation. Audits of model files, whose verdicts have sentences of
    their own, are left out."""
    verdicts = {
        subject: verdict
        for subject in findings.subjects
        if subject.metric.role != "suspicion" and (verdict := findings.verdict(subject)) is not None
    }
    if not verdicts:
        return Headline(None, _unmeasured(findings), "")
    words = {verdict.word for verdict in verdicts.values()}
    unclear = [subject for subject, verdict in verdicts.items() if verdict.word == "unclear"]
    if "leaks" in words:
        leaking = [subject for subject, verdict in verdicts.items() if verdict.word == "leaks"]
        clause, recommendation, remains = _defended(findings, leaking)
        rest = _open(leaking, unclear)
        sentence = f"{_leaks(findings, leaking, list(verdicts))}{clause}.{rest}{remains}"
        return Headline("leaks", sentence, recommendation)
    if unclear:
        helps = dict.fromkeys(HELPS[why] for subject in unclear if (why := verdicts[subject].why))
        recommendation = f"To find out, {joined(list(helps))}." if helps else ""
        return Headline("unclear", _untold(findings, unclear, list(verdicts)), recommendation)
    excluded = _excluded(findings, verdicts)
    things, providers = hidden_things(findings, list(verdicts), "or"), _any(list(verdicts))
    return Headline(
        "none",
        f"No attack that was made learns {things} from {providers}{excluded}."
        f"{_remains(findings, list(verdicts), findings.undefended or '')}",
        "A stronger attack may exist: nothing here says that none does.",
    )


def _excluded(findings: Findings, verdicts: Mapping[Subject, LeakVerdict]) -> str:
    """The greatest lead that is left open at any subject, and over what; "" for figures of several units."""
    if len({subject.metric.unit for subject in verdicts}) > 1:
        return ""
    leads = {subject: (each.most or 0.0) * subject.metric.scale for subject, each in verdicts.items()}
    subject = max(leads, key=lambda each: leads[each])
    row = findings.open(subject)
    control = None if row is None else control_of(findings.trials(row))
    over = (control.claim or "what its control tells") if control else "guessing"
    return f": a lead of more than {difference(leads[subject], subject.metric.unit)} over {over} is excluded"


def grade_of(findings: Findings, subject: Subject, defence: str) -> Grade | None:
    """From A (hardly anything can leak) to E (plain); "?" where it cannot be told, None where it was not
    measured, or where the row is of an audit."""
    verdict, row = findings.verdicts.get((subject, defence)), findings.best.get((subject, defence))
    if verdict is None or row is None or subject.metric.role == "suspicion":
        return None
    return grade(verdict.word, findings.way(row), verdict.most)


def unknown_to_all(findings: Findings, subjects: Sequence[Subject], defence: str) -> bool:
    """Whether no attacker who knows of the defence was tried on these subjects."""
    return all(row.knowledge == "unaware" for each in subjects for row in findings.tried[each, defence])


def thing(findings: Findings, subject: Subject) -> str:
    """What is hidden, in plain words: an attribute in quotation marks."""
    row = findings.open(subject)
    kind = None if row is None else kinds.get(row.kind)
    return (kind.hides if kind else "") or labels.attribute(subject.sensitive)


def hidden_things(findings: Findings, subjects: Sequence[Subject], last: str = "and") -> str:
    """What they hide, in plain words, the last two joined by that word."""
    names = list(dict.fromkeys(thing(findings, subject) for subject in subjects))
    shown = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} other things"]
    return joined(shown) if last == "and" else joined(shown).replace(" and ", f" {last} ")


def _providers(subjects: Sequence[Subject]) -> list[str]:
    return list(dict.fromkeys(subject.provider for subject in subjects))


def _number(value: int) -> str:
    return NUMBERS[value] if value < len(NUMBERS) else str(value)


def _any(subjects: Sequence[Subject]) -> str:
    names = _providers(subjects)
    if len(names) == 1:
        return f"“{names[0]}”"
    return "either provider" if len(names) == 2 else f"any of {_number(len(names))} providers"


def _open(leaking: Sequence[Subject], unclear: Sequence[Subject]) -> str:
    """Of whom else it cannot be told: a provider that is left out would pass for one that does not leak."""
    others = [name for name in _providers(unclear) if name not in _providers(leaking)]
    if not others:
        return ""
    whom = f"“{others[0]}”" if len(others) == 1 else f"{_number(len(others))} others"
    return f" Of {whom} it cannot be told."


def _leaks(findings: Findings, leaking: Sequence[Subject], everyone: Sequence[Subject]) -> str:
    """Who gives away what: "Two of six providers give away the beard"."""
    names, of = _providers(leaking), _providers(everyone)
    things = hidden_things(findings, leaking)
    pairs = {(each.provider, thing(findings, each)) for each in leaking}
    if len(pairs) < len(names) * len({thing for _, thing in pairs}):  # not each of them gives away all
        things = f"something: {things}"
    if len(names) == 1:
        of_several = f"One of {_number(len(of))} providers, “{names[0]}”,"
        who = f"The provider “{names[0]}”" if len(of) == 1 else of_several
        return f"{who} gives away {things}"
    if len(names) == len(of):
        return f"{'Both' if len(of) == 2 else f'All {_number(len(of))}'} providers give away {things}"
    return f"{_number(len(names)).capitalize()} of {_number(len(of))} providers give away {things}"


def _untold(findings: Findings, unclear: Sequence[Subject], everyone: Sequence[Subject]) -> str:
    rest = len(_providers(everyone)) - len(_providers(unclear))
    others = "the other" if rest == 1 else f"{_number(rest)} others"
    clear = f"; no leak was found at {others}" if rest else ""
    return f"Whether {_any(unclear)} gives away {hidden_things(findings, unclear)} cannot be told{clear}."


def _defended(findings: Findings, leaking: Sequence[Subject]) -> tuple[str, str, str]:
    """What defences do about it, as the end of the sentence; the recommendation; what remains."""
    tried = [name for name in findings.defences if name != findings.undefended]
    if not tried:
        return "; no defence was tried", "Try defences on these answers: list them under “defences”.", ""
    by_name: dict[str, list[Effect]] = {}
    for scale in findings.scales():
        for effect in effects(scale):
            by_name.setdefault(effect.defence, []).append(effect)
    stopping = {
        name: parts
        for name, parts in by_name.items()
        if all(each.kind == "stops" for each in parts)
        and sum(each.subjects for each in parts) == len(leaking)
        and not any(verdict.word == "leaks" for (_, at), verdict in findings.verdicts.items() if at == name)
    }
    if stopping:
        name = max(stopping, key=lambda each: _least_utility(stopping[each]))
        unaware = unknown_to_all(findings, leaking, name)
        doubt = " Attackers who know of it were not tried: try them first." if unaware else ""
        remains = _remains(findings, leaking, name)
        return f"; “{name}” stops that{_costs(stopping[name])}", f"Use “{name}”.{doubt}", remains
    if not by_name:
        return "; what defences change is not known yet", "", ""
    name = min(by_name, key=lambda each: max(effect.kept[1] for effect in by_name[each]))
    clause = "; the defence that was tried is not certain to stop that"
    if len(tried) > 1:
        clause = f"; none of {_number(len(tried))} defences is certain to stop that"
    least = "" if len(tried) == 1 else f" “{name}” leaves attackers least, and not little enough."
    return clause, f"Do not let these answers out as they are.{least}", ""


def _remains(findings: Findings, subjects: Sequence[Subject], defence: str) -> str:
    """What can be told without the model, where that is much: no defence of its answers takes it away."""
    rows = [findings.best[subject, defence] for subject in subjects if (subject, defence) in findings.best]
    told = [row for row in rows if (gap(row) or 0.0) > findings.bound and control_of(findings.trials(row))]
    if not told:
        return ""
    row = max(told, key=leaked)
    control, metric = control_of(findings.trials(row)), leakage_of(row.kind)
    claim = control.claim if control and control.claim else "what can be guessed without the model"
    return f" {claim[0].upper()}{claim[1:]} remains: {titled(metric, leaked(row))}."


def _least_utility(parts: Sequence[Effect]) -> float:
    return min(-1.0 if effect.cost is None else effect.cost for effect in parts)


def _costs(parts: Sequence[Effect]) -> str:
    """What the defence costs users, at its worst."""
    if any(effect.cost is None for effect in parts):
        return ", at a cost that was not measured for all"
    worst = min(parts, key=_cost)
    if _cost(worst) == 0.0:
        return " and costs nothing"
    if _cost(worst) > 0.0:
        return f" and costs no {worst.utility} in the mean"
    return f" and costs {difference(_cost(worst), 'share')} of {worst.utility}"


def _cost(effect: Effect) -> float:
    return effect.cost or 0.0


def _unmeasured(findings: Findings) -> str:
    if any(subject.metric.role == "suspicion" for subject in findings.subjects):
        return "Models were audited, and nothing else was tried."
    if findings.undefended is None and findings.tried:
        return "What providers give away without a defence was not measured."
    return "No attack has come to an end, so nothing can be told."
