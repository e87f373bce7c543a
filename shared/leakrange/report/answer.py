"""The answer of a run in a few sentences, computed from its figures."""

from __future__ import annotations

from collections.abc import Sequence

from leakrange.metrics import Metric, described
from leakrange.metrics.numbers import (
    SPACE,
    between,
    compared,
    count,
    difference,
    figure,
    interval,
    joined,
    signed,
)
from leakrange.metrics.verdict import LeakVerdict
from leakrange.report.effects import defence_sentences
from leakrange.report.findings import (
    Findings,
    Subject,
    beside,
    chance,
    gap,
    leaked,
    utility,
    utility_metric,
)
from leakrange.report.open_scale import companions, over_honest
from leakrange.scenario.gains import control_of
from leakrange.scenario.results import Summary

__all__ = [
    "HONEST",
    "against",
    "certainty",
    "families",
    "measured",
    "sentences",
]

HONEST = "the honest provider’s"
STRANGE = ("remote", "recorded")
"""Families of models that others trained: nobody here knows what they were meant to do."""


def sentences(findings: Findings) -> list[str]:
    """Say in a sentence each what honest providers leak, what the others learn, and what the defences do.

    Where attacks are judged by several metrics, providers have one sentence for each of these. The results of
    audits have their own sentences, and are the only ones where nothing else was tried.
    """
    audited = _audited(findings)
    if audited and not any(findings.families.values()):
        return audited
    answers = []
    for family in families(findings):
        family_answers = [_family(findings, family, rows) for rows in measured(findings, family)]
        answers += family_answers or [_nothing(findings, family)]
    for scale in findings.scales() or [findings]:
        answers += defence_sentences(scale)
    return [*answers, *audited]


def _audited(findings: Findings) -> list[str]:
    """The auditors' results for each model, by the metric of their kind."""
    answers = []
    for subject in findings.subjects:
        row = findings.open(subject)
        if subject.metric.role == "suspicion" and row is not None:
            claim = subject.metric.claim.format(
                value=figure(leaked(row), subject.metric.unit), hidden=subject.sensitive
            )
            shares = [other for other in beside(row, subject.metric) if other.unit == "share"]
            more = "".join(f"; {each.title}: {figure(row.mean(each.name), each.unit)}" for each in shares)
            answers.append(
                f"Of the model of “{findings.label(subject)}” an audit says: {claim} "
                f"({certainty(findings, row, subject)}{more})."
            )
    return answers


Rows = list[tuple[Subject, Summary]]
WORDS = ("leaks", "unclear", "none")


def families(findings: Findings) -> list[str]:
    """The honest family and all others; "curious" where there is no other, so that the text mentions it.
    Models of others stand alone where there is nothing else."""
    others = [family for family in findings.families if family != "honest"]
    if others and set(others) <= set(STRANGE) and not findings.families["honest"]:
        return others
    return ["honest", *(others or ["curious"])]


def measured(findings: Findings, family: str) -> list[Rows]:
    """For each metric the subjects with a figure for their undefended outputs: first those that leak, then
    the unclear ones. Within both, the one whose attack goes furthest is first."""
    by_metric: dict[str, Rows] = {}
    for subject in findings.families.get(family, []):
        row = findings.open(subject)
        if row is not None:
            by_metric.setdefault(subject.leakage, []).append((subject, row))

    return [sorted(rows, key=lambda pair: by_certainty(findings, pair[0])) for rows in by_metric.values()]


def by_certainty(findings: Findings, subject: Subject) -> tuple[int, float]:
    """The order of subjects with a figure for their undefended outputs: those that leak, then the unclear
    ones, and within both the one whose attack goes furthest first."""
    row = findings.open(subject)
    assert row is not None  # it has a figure
    return WORDS.index(_verdict(findings, subject).word), -findings.reached(row).strength


def _verdict(findings: Findings, subject: Subject) -> LeakVerdict:
    verdict = findings.verdict(subject)
    assert verdict is not None  # it has a figure
    return verdict


def certainty(findings: Findings, row: Summary, subject: Subject) -> str:
    """The interval of the leakage, over users and seeds: "95 % interval 0.690 to 0.778, 2 seeds"."""
    uncertainty = findings.spread(row, subject.metric)
    if findings.reached(row).constant:
        return f"constant scores{_under(findings, row)}"
    if uncertainty is None:
        return "one seed, so no interval" if row.count == 1 else "no interval"
    percent = f"{SPACE}%" if subject.metric.unit == "share" else ""
    bounds = interval(uncertainty.within(), subject.metric.unit, subject.metric.lowest)
    return f"95 % interval {bounds}{percent}, {count(row.count, 'seed')}"


def _under(findings: Findings, row: Summary) -> str:
    """The part of the seeds under which an attack gave everybody the same score; "" where it is all of
    them."""
    trials = findings.trials(row)
    constant = sum("constant" in trial.metrics for trial in trials)
    return "" if constant == len(trials) else f" under {constant} of {len(trials)} seeds"


def _level(row: Summary, subject: Subject) -> str:
    """The chance level with its name: "the PSNR of the mean picture (5.80 dB)"."""
    level = figure(chance(row), subject.metric.unit)
    named = subject.metric.chance
    return f"{_plain(described(named))} ({level})" if isinstance(named, str) else f"guessing ({level})"


def _plain(metric: Metric) -> str:
    """A level that takes no attack, as one says it."""
    return "always guessing the commonest answer" if metric.name == "majority" else f"the {metric.title}"


def against(findings: Findings, row: Summary, subject: Subject, verdict: LeakVerdict) -> str:
    """The attack's distance from the chance level and its advantage over its control, with the doubt about
    either."""
    distance, metric = gap(row), subject.metric
    if distance is None:
        return "with no chance level known"
    reach = findings.reached(row)
    text = compared(distance if metric.higher else -distance, _level(row, subject), metric.unit)
    control, sure = control_of(findings.trials(row)), findings.sure(row, verdict)
    if reach.constant:
        return text
    if distance < 0 and sure:
        turned = f"{1.0 - leaked(row):.3f}"
        text += f", and reliably so: whoever turns its scores round has {turned}"
    if control is None:
        return text if sure else f"{text}, which may be luck"
    claim = control.claim or "its control tells"
    within = "" if reach.beyond is None else f"95 % interval {between(reach.beyond.within())}"
    if sure:
        return f"{text}, and {figure(reach.mean, control.unit)} more than {claim} ({within})"
    if verdict.word == "none":
        return f"{text}, which is no more than {claim}"
    return f"{text}, which may be no more than {claim} ({between((reach.mean or 0.0,))} beyond it, {within})"


def _reached(findings: Findings, row: Summary, subject: Subject, verdict: LeakVerdict) -> str:
    """The result of the strongest attack: "the strongest attack (…) tells “loop” with an AUC of 0.734
    (…)"."""
    metric = subject.metric
    claim = metric.claim or "reaches {value} of " + metric.title + " on “{hidden}”"
    result = claim.format(value=figure(leaked(row), metric.unit), hidden=subject.sensitive)
    attack = f"the strongest attack ({row.attack}, {row.knowledge}, budget {row.budget:,})"
    parts = [companions(row, subject), certainty(findings, row, subject), _guesses(row, subject)]
    details = "; ".join(part for part in parts if part)
    return f"{attack} {result} ({details}), {against(findings, row, subject, verdict)}"


def _guesses(row: Summary, subject: Subject) -> str:
    """The share of right guesses against that without the model, by each metric of such shares, for attacks
    that are judged by another metric."""
    guesses = []
    for other in beside(row, subject.metric):
        if isinstance(other.chance, str) and other.claim and other.name != subject.leakage:
            level = described(other.chance)
            guess = other.claim.format(
                value=figure(row.mean(other.name), other.unit), hidden=subject.sensitive
            )
            share = figure(row.mean(level.name), level.unit)
            guesses.append(f"it {guess}, {_plain(level)} {share}")
    return "; ".join(guesses)


def _nothing(findings: Findings, family: str) -> str:
    """The reason why nothing can be said about providers of that family."""
    if not findings.families.get(family):
        return f"The scenario attacks no {family} provider, so nothing is said about one."
    if findings.undefended is None:
        return f"What {family} providers leak undefended was not measured: no defence has an empty chain."
    return (
        f"What {family} providers leak is not known yet: no attack on their undefended outputs has finished."
    )


def _family(findings: Findings, family: str, rows: Rows) -> str:
    """The leakage of a family's providers, shown by the first of them."""
    subject, row = rows[0]
    verdict = _verdict(findings, subject)
    sentence = f"{_who(findings, family, rows)}: "
    meant = family not in ("honest", *STRANGE)  # to learn what it should not
    if not meant:
        sentence += "from its undefended outputs " if family == "honest" else "from its outputs "
    sentence += _reached(findings, row, subject, verdict)
    sentence += over_honest(findings, subject, row) if meant else ""
    sentence += _price(findings, rows) if meant or family == "remote" else ""
    return f"{sentence}.{_limits(findings, subject, row, verdict)}"


def _who(findings: Findings, family: str, rows: Rows) -> str:
    verdicts = [_verdict(findings, subject) for subject, _ in rows]
    word, name, many = verdicts[0].word, f"“{findings.label(rows[0][0])}”", len(rows)
    same = sum(each.word == word for each in verdicts)
    everyone = "Both" if many == 2 else f"All {many}"
    part = everyone if same == many else f"{same} of {many}"
    party = f"the {family} provider {name}"
    if word == "leaks":
        does, do = "learns what it should not", "learn what they should not"
        if family == "honest":
            does, do = "leaks although nobody meant it to", "leak although nobody meant them to"
        elif family in STRANGE:
            does, do = "leaks", "leak"
        if many == 1:
            return f"T{party[1:]} {does}"
        if same == 1:
            return f"One of {many} {family} providers {does}, {name}{_others(verdicts)}"
        return f"{part} {family} providers {do}, most of all {name}{_others(verdicts)}"
    if word == "none":
        if many == 1:
            return f"T{party[1:]} leaks little" if verdicts[0].little else f"No leak was found at {party}"
        if all(each.little for each in verdicts):
            return f"{everyone} {family} providers leak little, most of all {name}"
        return f"No leak was found at any of {many} {family} providers, the most exposed of which is {name}"
    leak_ = "leaks" if family in ("honest", *STRANGE) else "learns what it should not"
    if many == 1:
        return f"Whether {party} {leak_} cannot be told"
    clear = _others([each for each in verdicts if each.word == "none"])
    return (
        f"Whether {party} {leak_} cannot be told{f', and so of {same} of {many}' if same > 1 else ''}{clear}"
    )


def _others(verdicts: Sequence[LeakVerdict]) -> str:
    """The words on the providers that do not leak."""
    parts = [
        f"{phrase} {number}"
        for word, phrase in (("unclear", "it cannot be told of"), ("none", "no leak was found at"))
        if (number := sum(each.word == word for each in verdicts))
    ]
    return f" ({joined(parts)})" if parts else ""


def _limits(findings: Findings, subject: Subject, row: Summary, verdict: LeakVerdict) -> str:
    """The most that may leak, where no leak was found; or the reason why nothing can be told."""
    metric = subject.metric
    most, visible = (
        None if value is None else difference(value * metric.scale, metric.unit)
        for value in (verdict.most, verdict.visible)
    )
    if verdict.word == "none":
        beyond = "chance" if control_of(findings.trials(row)) is None else "that"
        return (
            f" At most {most} beyond {beyond} leaks to these attacks; a leak of {visible} would have been "
            "found 8 times in 10."
        )
    if verdict.word == "leaks":
        return ""
    if gap(row) is None:
        return ""
    if verdict.why == "constant":
        return (
            f" It gave everybody the same score{_under(findings, row)}: it has learnt nothing, and nothing "
            "follows from that."
        )
    if verdict.why == "no interval":
        return " Nothing says how uncertain that is: more seeds would."
    if verdict.why == "labels":
        return (
            " It hides how sure the model is, and no attack that was run is made for labels alone: that is no"
            " all-clear."
        )
    if verdict.why == "seeds":
        values = [trial.value(metric.name) or 0.0 for trial in findings.trials(row)]
        return f" The seeds disagree: they reach {between((min(values), max(values)))}."
    return f" That is too uncertain: as much as {most} beyond chance may leak. More users would tell."


def _price(findings: Findings, rows: Rows) -> str:
    """The utility of the worst of these providers, against an honest one."""
    subject, row = rows[0]
    metric, used = utility_metric(row), utility(row)
    if metric is None or used is None:
        return ", at a utility that was not measured"
    text = f", at {_article(metric.title)} of {figure(used.mean, metric.unit)}"
    reference = findings.reference(subject)
    less = findings.utility_difference(row, reference) if reference else None
    if less is None and families(findings) == ["remote"]:
        return text
    if less is None:
        return text + ", with no honest provider of the same task to compare it with"
    text += f", {compared(less.mean, HONEST, metric.unit)}"
    others = [
        other.mean
        for each, each_row in rows
        if (honest := findings.reference(each)) and (other := findings.utility_difference(each_row, honest))
    ]
    if len(others) > 1 and metric.unit == "share":
        text += f" (over all: {signed(min(others))} to {signed(max(others))}{SPACE}points)"
    return text


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0].lower() in "aeiouh" else f"a {noun}"
