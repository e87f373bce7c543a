"""A run's results for a class, about one provider: what its answers give away, what the best defence changes,
and what that costs users. Verdicts are those of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakrange.metrics.numbers import difference, figure
from leakrange.metrics.registry import Metric
from leakrange.report.answer import against, by_certainty, certainty, measured
from leakrange.report.effects import effects
from leakrange.report.findings import Findings, Subject, chance, leaked, utility, utility_metric
from leakrange.report.headline import thing, unknown_to_all
from leakrange.scenario.gains import control_of
from leakrange.scenario.results import Summary
from leakrange.wire.views import LessonStep

__all__ = ["lesson"]

CANNOT = "cannot be told from this run"


def lesson(findings: Findings, provider: str) -> list[LessonStep]:
    """The steps ``finds``, ``changes`` and ``costs``, as far as there are results on that provider without a
    defence; of several things that it may give away, those of the clearest leak."""
    alone = replace(findings, subjects=[each for each in findings.subjects if each.provider == provider])
    attacked = [rows[0] for family in alone.families for rows in measured(alone, family)]
    if not attacked:
        return []
    subject, row = min(attacked, key=lambda pair: by_certainty(findings, pair[0]))
    others = [
        name for name in findings.defences if name != findings.undefended and (subject, name) in findings.best
    ]
    steps = [_finds(findings, subject, row)]
    if others:
        best = findings.best[subject, min(others, key=lambda name: _order(findings, subject, name))]
        return [*steps, _changes(findings, subject, row, best), _costs(findings, row, best)]
    if len(findings.defences) > 1:
        return steps  # their trials go on
    none = LessonStep("changes", "No defence was tried in this run.", "none", "defences tried")
    return [*steps, none, _free(row)]


def _order(findings: Findings, subject: Subject, defence: str) -> tuple[int, float]:
    """The best defence comes first: of those under which no leak is found the one with the greatest utility,
    else the one that leaves least."""
    word, row = findings.verdicts[subject, defence].word, findings.best[subject, defence]
    used = utility(row)
    left = findings.way(row)
    return ("none", "unclear", "leaks").index(word), -used.mean if word == "none" and used else left


def _finds(findings: Findings, subject: Subject, row: Summary) -> LessonStep:
    verdict = findings.verdicts[subject, row.defence]
    value, guessed = _value(findings, row), _guessed(findings, row)
    ends = {
        "leaks": f"That is better than guessing: the answers give away {thing(findings, subject)}.",
        "none": "That is no better than guessing: no leak was found.",
        "unclear": f"Whether that is better than guessing {CANNOT}.",
    }
    attacker = f"An attacker is after {thing(findings, subject)}."
    sentence = f"{attacker} {_told(subject, value, guessed)} {ends[verdict.word]}"
    detail = (
        f"{subject.metric.title} {figure(leaked(row), subject.metric.unit)} "
        f"({row.attack}, {row.knowledge}, budget {row.budget:,}; {certainty(findings, row, subject)}), "
        f"{against(findings, row, subject, verdict)}."
    )
    beside = "" if guessed is None else f"guessing: {_figure(subject.metric, guessed)}"
    bars = _bars(subject.metric, (("attacker", value), ("guessing", guessed)))
    return LessonStep("finds", sentence, _figure(subject.metric, value), beside, bars, detail)


def _told(subject: Subject, value: float, guessed: float | None) -> str:
    """What the attacker reaches, against guessing."""
    metric = subject.metric
    shown, guess = _figure(metric, value), "" if guessed is None else _figure(metric, guessed)
    if metric.name == "auc":  # the chance that of two users the right one has the greater score
        return (
            f"Of two users who differ in that, it tells which is which {shown} times; guessing gets {guess}."
        )
    claim = (metric.claim or "reaches {value} of " + metric.title).format(
        value=shown, hidden=subject.sensitive
    )
    return f"It {claim}" + (f"; guessing gets {guess}." if guess else ".")


def _changes(findings: Findings, subject: Subject, before: Summary, after: Summary) -> LessonStep:
    metric, word = subject.metric, findings.verdicts[subject, after.defence].word
    was, now = _value(findings, before), _value(findings, after)
    sentence = (
        f"The defence “{after.defence}” stands between users and provider. The attacker, who got "
        f"{_figure(metric, was)} without it, gets {_figure(metric, now)} with it."
    )
    if findings.verdicts[subject, before.defence].word != "leaks":
        end = "No leak was found without it, so there was nothing to stop."
        if findings.verdicts[subject, before.defence].word == "unclear":
            end = f"Whether there was something to stop {CANNOT}."
    elif word == "none":
        end = "That is no better than guessing: it stops this leak of this provider."
        if unknown_to_all(findings, [subject], after.defence):
            end += " Attackers who know of it were not tried."
    elif word == "unclear":
        end = f"Whether anything still leaks {CANNOT}."
    else:
        [effect] = [
            each
            for scale in replace(findings, subjects=[subject]).scales()
            for each in effects(scale)
            if each.defence == after.defence
        ]
        weaker = "The leak is smaller, and still there."
        end = weaker if effect.kind == "weakens" else "The leak is still there."
    others = [name for name in findings.defences if name not in (findings.undefended, after.defence)]
    detail = f"Also tried: {', '.join(others)}." if others else ""
    bars = _bars(
        metric,
        (("no defence", was), (after.defence, now), ("guessing", _guessed(findings, before))),
    )
    return LessonStep(
        "changes",
        f"{sentence} {end}",
        _figure(metric, now),
        f"without it: {_figure(metric, was)}",
        bars,
        detail,
    )


def _costs(findings: Findings, before: Summary, after: Summary) -> LessonStep:
    metric, was, now = utility_metric(after), utility(before), utility(after)
    if metric is None or was is None or now is None:
        return LessonStep("costs", "What the defence costs users was not measured.", "–", "")
    change = findings.utility_difference(after, before)
    less = change.mean if change else now.mean - was.mean
    size = difference(less, metric.unit)
    worse = less < 0 if metric.higher else less > 0
    shown = figure(now.mean, metric.unit)
    kept = f"{_served(metric, was.mean, before)} without the defence, and {shown} with it."
    nothing = "The defence costs nothing." if less == 0 else "In the mean the defence costs nothing."
    end = f"The defence costs {size}." if worse else nothing
    bars = _bars(metric, (("no defence", was.mean), (after.defence, now.mean)))
    lost = ("fewer right answers" if metric.unit == "share" else f"of {metric.title}") if worse else "is lost"
    return LessonStep("costs", f"{kept} {end}", size if worse else "nothing", lost, bars)


def _free(row: Summary) -> LessonStep:
    metric, used = utility_metric(row), utility(row)
    if metric is None or used is None:
        return LessonStep("costs", "What users get was not measured.", "–", "")
    shown = figure(used.mean, metric.unit)
    return LessonStep("costs", f"{_served(metric, used.mean, row)}. No defence takes from that.", shown, "")


def _served(metric: Metric, value: float, row: Summary) -> str:
    shown = figure(value, metric.unit)
    if metric.unit == "share":
        return f"The model is right about “{row.target}” for {shown} of samples"
    return f"Users get a {metric.title} of {shown}"


def _value(findings: Findings, row: Summary) -> float:
    """The figure of an attack whose scores somebody turns round where they are reliably the wrong way."""
    return 1.0 - leaked(row) if findings.reached(row).turned else leaked(row)


def _guessed(findings: Findings, row: Summary) -> float | None:
    """What somebody reaches who does not see the answers: by chance, or with what the control has."""
    metric, control = Subject.of(row).metric, control_of(findings.trials(row))
    lead = findings.reached(row).mean
    if control is None or lead is None or control.unit != metric.unit:
        return chance(row)
    return _value(findings, row) - (abs(lead) if findings.reached(row).turned else lead)


def _figure(metric: Metric, value: float) -> str:
    if metric.name != "auc":
        return figure(value, metric.unit)
    times = round(100 * value)
    return "more than 99 of 100" if times == 100 and value < 1 else f"{times} of 100"


def _bars(metric: Metric, values: Sequence[tuple[str, float | None]]) -> list[tuple[str, float, str]]:
    """A bar for each value in [0, 1] with its label and figure; none for metrics of another range."""
    if metric.unit not in ("share", "score"):
        return []
    return [
        (label, min(1.0, max(0.0, value)), _figure(metric, value))
        for label, value in values
        if value is not None
    ]
