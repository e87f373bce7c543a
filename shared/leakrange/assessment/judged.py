"""From the results of an audit's run to its document: findings, a conclusion, and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from leakrange.assessment.advice import advised, policies_for
from leakrange.assessment.document import (
    Advice,
    Assessment,
    AssessmentPlan,
    ChosenAttack,
    Conclusion,
    Finding,
    MadeAttack,
    Power,
    Question,
    SubjectEndpoint,
)
from leakrange.assessment.known import KnownModels, nearest
from leakrange.assessment.plan import null_error
from leakrange.assessment.prices import price_lists, without_model
from leakrange.assessment.question import EndpointQuestion
from leakrange.attacks.kinds import kinds
from leakrange.metrics import described
from leakrange.metrics.numbers import count, figure, interval, joined
from leakrange.metrics.verdict import LEVEL, STEEP, Z95, Grade, LeakVerdict, Word, grade
from leakrange.report.findings import Findings, Subject, find, leaked
from leakrange.scenario.results import RunResults, Summary, TrialResult

__all__ = ["assessed"]

MEMBERSHIP = "membership"
LIMITS = (
    "The verdict is about these attacks, these records and these answers. A stronger attack, more records or "
    "another version of the model may give another one.",
    "Passing an audit is evidence that a model resists the attacks that were made. It proves neither that it "
    "is anonymous nor that any law is kept.",
)
CONCLUSIONS: dict[Word, Conclusion] = {"leaks": "leaks", "none": "passes", "unclear": "cannot tell"}
"""By the word of a verdict."""
FOUND = "tpr_at_001"


def assessed(
    question: EndpointQuestion,
    plan: AssessmentPlan,
    results: RunResults,
    *,
    records: int,
    fingerprint: str = "",
) -> Assessment:
    """The document of an audit whose run is over. ``records`` is the number of the data set's records, and
    ``fingerprint`` names their content."""
    bounds = question.thresholds
    findings = replace(find(results), little=bounds.little, bound=bounds.bound)
    judge = _Judge(question, plan, findings)
    concluded = [
        *([judge.about(MEMBERSHIP, "membership")] if question.members else []),
        *(judge.about(name, "attribute") for name in question.hidden),
        *(
            judge.about(subject.sensitive, "reconstruction")
            for subject in findings.subjects
            if subject.sensitive not in (MEMBERSHIP, *question.hidden)
        ),
    ]
    conclusion = _overall(concluded)
    known = (judge.known(each.about, each.question) for each in concluded)
    errors = dict.fromkeys(each.sentence for each in known if each is not None)
    advice = advised(findings, question) if question.advise else ()
    prices = price_lists(findings, question.target.limits.price or "", bounds)
    return Assessment(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        subject=_subject(question, records, fingerprint),
        plan=plan,
        conclusion=conclusion,
        grade=_grade(conclusion, concluded),
        headline=_headline(question.target.name, conclusion, concluded),
        recommendation=_recommendation(question, conclusion, concluded, advice),
        findings=tuple(concluded),
        attacks=tuple(_made(trial) for trial in _largest(results.trials)),
        prices=tuple(each for _, each in prices),
        advice=tuple(advice),
        limits=(*LIMITS, *errors, *_unmade(plan.attacks), *_notes(results)),
        run=results.run,
        spent=sum(int(each["spent"]) for each in results.ledger),
        seconds=results.seconds,
        versions={
            name: text for name, text in results.environment.items() if name in ("leakrange", "python")
        },
    )


class _Judge:
    """Judges what is hidden, one thing after the other."""

    def __init__(self, question: EndpointQuestion, plan: AssessmentPlan, findings: Findings) -> None:
        self.name, self.plan, self.findings = question.target.name, plan, findings
        self.task = question.data
        self.pictures = question.target.card.input.spec.encoding == "picture"
        self.powers = {each.about: each for each in plan.power}

    def about(self, name: str, question: Question) -> Finding:
        """The finding about one hidden thing. It passes only where every attack in scope was made, among
        enough records."""
        subject = next((each for each in self.findings.subjects if each.sensitive == name), None)
        row = None if subject is None else self.findings.open(subject)
        if subject is None or row is None:
            return self._nothing(name, question)
        verdict = self.findings.verdict(subject)
        assert verdict is not None  # it has a row
        blind = self._blind(row, self.powers.get(name)) if question == "membership" else None
        at_rate = self._members_found(subject) if question == "membership" else None
        conclusion = CONCLUSIONS[verdict.word]
        why, needed, by_rate = "", "", False
        if blind is not None:
            conclusion, why = "cannot tell", blind
            needed = "members and others that were drawn at random from the same records"
        elif at_rate is not None and conclusion != "leaks":
            conclusion, row, by_rate = "leaks", at_rate, True
        elif conclusion == "passes" and (reason := self._untested(subject, row, question)) is not None:
            conclusion, (why, needed) = "cannot tell", reason
        elif conclusion == "cannot tell":
            why, needed = self._unclear(subject, row, verdict)
        metric, spread = subject.metric, self.findings.spread(row, subject.metric)
        known = self.known(name, question)
        low, high = (None, None) if spread is None else spread.within()
        lead = leaked(row) - (without_model(row) or 0.5)
        sentence = self._sentence(name, question, conclusion, row, verdict, why)
        if by_rate:
            sentence = self._found_sentence(row)
        return Finding(
            about=name,
            question=question,
            conclusion=conclusion,
            attack=row.attack,
            metric=metric.name,
            value=leaked(row),
            low=low,
            high=high,
            control=without_model(row),
            most=verdict.most,
            visible=verdict.visible,
            sentence=sentence,
            why=why,
            needed=needed,
            by_rate=by_rate,
            z=None if known is None else known.z(lead),
            among="" if known is None else known.among(lead),
        )

    def _untested(self, subject: Subject, row: Summary, question: Question) -> tuple[str, str] | None:
        """Why nothing passes although no attack found anything, and what it takes; None where it may."""
        unmade = [each for each in self.plan.unmade if each.question == question]
        ended = {each.attack for each in self.findings.tried[subject, row.defence]}
        lost = sorted({each.attack for each in self._asked(subject, row)} - ended)
        power = self.powers.get(subject.sensitive)
        if unmade:
            names = joined([each.attack for each in unmade])
            return (
                f"{names} could not be made ({unmade[0].why})",
                "a larger budget (--budget), or more records",
            )
        if lost:
            why = f"{joined(lost)} came to no end at the largest budget"
            return why, "a run in which every attack ends: the limits of this document say what stopped them"
        if power is None or power.enough:
            return None
        sides = f"{power.cases:,} records of one side and {power.others:,} of the other"
        why = f"{sides} are too few: a leak would often not be seen among so many"
        return why, f"about {power.needed:,} records of either side"

    def _asked(self, subject: Subject, row: Summary) -> list[TrialResult]:
        """The trials of attacks on the subject that were to be judged, whether they ended or not."""
        return [
            each
            for each in self.findings.results.trials
            if Subject.of(each) == subject and each.defence == row.defence and "control" not in each.metrics
        ]

    def known(self, name: str, question: Question) -> KnownModels | None:
        """Models whose truth is known, of the nearest task, that were audited with no more records."""
        power = self.powers.get(name)
        if power is None:
            return None
        records = min(power.cases, power.others)
        return nearest(question, records, task=self.task, pictures=self.pictures)

    def _nothing(self, name: str, question: Question) -> Finding:
        unmade = [each for each in self.plan.unmade if each.question == question]
        reason = f": {unmade[0].attack}: {unmade[0].why}" if unmade else ""
        why = f"no attack came to an end{reason}"
        return Finding(
            about=name,
            question=question,
            conclusion="cannot tell",
            sentence=f"Whether “{self.name}” gives away {_hidden(name)} cannot be told: {why}.",
            why=why,
            needed="more records, or a larger budget (--budget)",
        )

    def _blind(self, row: Summary, power: Power | None) -> str | None:
        """Why membership cannot be evaluated with these records; None where it can."""
        blind = row.mean("blind_auc")
        if blind is None or power is None or min(power.cases, power.others) < 1:
            return None
        lead = blind - 0.5
        if lead <= self.plan.thresholds.little or lead <= Z95 * null_error(power.cases, power.others):
            return None
        return (
            f"a classifier that never sees the model tells members from others with an AUC of {blind:.2f}: "
            "the records differ by themselves"
        )

    def _members_found(self, subject: Subject) -> Summary | None:
        """The attack that is certain to find more members than the thresholds allow while 1 % of the others
        are accused; None where none is."""
        from scipy.stats import binom  # here, since not all who import this module have SciPy

        power = self.powers.get(MEMBERSHIP)
        rows = self.findings.tried.get((subject, self.findings.undefended or ""), [])
        allowed = self.plan.thresholds.found_members
        for row in rows:
            share = row.mean(FOUND)
            if share is None or power is None:
                continue
            by_luck = binom.sf(round(share * power.cases) - 1, power.cases, allowed)
            if share > allowed and by_luck < LEVEL / len(rows):
                return row
        return None

    def _unclear(self, subject: Subject, row: Summary, verdict: LeakVerdict) -> tuple[str, str]:
        """Why nothing can be told, and what would help."""
        power = self.powers.get(subject.sensitive)
        if verdict.why == "constant":
            return "the attacks gave everybody the same score", "more records for attackers to learn from"
        if verdict.why == "labels":
            return (
                "the model tells labels alone, and no attack that is made for labels was made",
                "a larger budget (--budget)",
            )
        if verdict.why == "no interval" or power is None or verdict.most is None:
            return "no attack has an interval", "more records"
        lead = max(0.0, self.findings.reached(row).strength)
        doubt = verdict.most - lead
        room = _room(lead, self.plan.thresholds.bound)
        factor = max(1.1, (doubt / room) ** 2)
        cases = max(power.needed, math.ceil(factor * power.cases))
        others = max(power.needed, math.ceil(factor * power.others))
        why = (
            f"with {power.cases:,} records of one side and {power.others:,} of the other a lead of up to "
            f"{verdict.most:.2f} over guessing is not excluded, nor is none"
        )
        return why, f"about {cases:,} records of one side and {others:,} of the other"

    def _sentence(
        self,
        name: str,
        question: Question,
        conclusion: Conclusion,
        row: Summary,
        verdict: LeakVerdict,
        why: str,
    ) -> str:
        if conclusion == "cannot tell":
            return f"Whether “{self.name}” gives away {_hidden(name)} cannot be told: {why}."
        metric = Subject.of(row).metric
        value = figure(leaked(row), metric.unit)
        control = without_model(row)
        if conclusion == "leaks":
            known = "guessing has 0.50" if control is None else f"without the model it is {control:.2f}"
            if question == "reconstruction":
                reached = f"{row.attack} reaches {metric.title} {value}"
                return f"“{self.name}” gives away {name}: the attack {reached}."
            return (
                f"“{self.name}” gives away {_hidden(name)}: the attack {row.attack} tells it with an AUC of "
                f"{value} ({self._interval(row)}); {known}."
            )
        assert verdict.most is not None
        return (
            f"No attack learns {_hidden(name)} from “{self.name}”: a lead of more than {verdict.most:.2f} "
            f"over guessing is excluded; the strongest, {row.attack}, has {metric.title} {value} "
            f"({self._interval(row)})."
        )

    def _interval(self, row: Summary) -> str:
        metric = Subject.of(row).metric
        spread = self.findings.spread(row, metric)
        if spread is None:
            return "no interval"
        return f"95 % interval {interval(spread.within(), metric.unit, metric.lowest)}"

    def _found_sentence(self, row: Summary) -> str:
        share = row.mean(FOUND)
        assert share is not None  # it was chosen by it
        return (
            f"“{self.name}” gives away {_hidden(MEMBERSHIP)}: the attack {row.attack} finds "
            f"{100 * share:.1f} % of the members while it accuses 1 % of the others."
        )


def _room(lead: float, bound: float) -> float:
    """How far a lead is from the threshold that would decide: the bound, or none where it is beyond."""
    return max(1e-3, bound - lead if lead < bound / 2 else lead)


def _overall(findings: Sequence[Finding]) -> Conclusion:
    words = {each.conclusion for each in findings}
    if "leaks" in words:
        return "leaks"
    return "passes" if words == {"passes"} else "cannot tell"


def _grade(conclusion: Conclusion, findings: Sequence[Finding]) -> Grade:
    word = next(each for each, concluded in CONCLUSIONS.items() if concluded == conclusion)
    worst = max((_lead(each) for each in findings if each.conclusion == "leaks"), default=0.0)
    return grade(word, worst, max((each.most or 0.0 for each in findings), default=0.0))


def _lead(finding: Finding) -> float:
    if finding.value is None or described(finding.metric).unit != "score":
        return STEEP
    return abs(finding.value - 0.5) if finding.control is None else finding.value - finding.control


def _headline(name: str, conclusion: Conclusion, findings: Sequence[Finding]) -> str:
    concerned = [each for each in findings if each.conclusion == conclusion]
    hidden = joined([_hidden(each.about) for each in concerned])
    if conclusion == "leaks":
        worst = max(concerned, key=_lead)
        others = [_hidden(each.about) for each in concerned if each is not worst]
        also = f" It gives away {joined(others)} as well." if others else ""
        return f"“{name}” gives away {_hidden(worst.about)}{_picked(worst)}.{also}"
    if conclusion == "passes":
        most = max(each.most or 0.0 for each in findings)
        either = " or ".join(_hidden(each.about) for each in concerned)
        return (
            f"No attack that was made learns {either} from “{name}”: a lead of more than {most:.2f} over "
            "guessing is excluded."
        )
    return f"Whether “{name}” gives away {hidden} cannot be told: {concerned[0].why}."


def _picked(finding: Finding) -> str:
    """What a leak means for two people: an AUC is the share of pairs that are put in the right order."""
    if finding.by_rate or finding.value is None or described(finding.metric).unit != "score":
        return finding.sentence.partition(_hidden(finding.about))[2].removesuffix(".")
    member = "the member among" if finding.about == MEMBERSHIP else "the right one of"
    pair = "a member and another" if finding.about == MEMBERSHIP else "two people who differ in it"
    guessed = 0.5 if finding.control is None else finding.control
    right = max(finding.value, 1.0 - finding.value)
    return (
        f": an attacker picks {member} {pair} in {100 * right:.0f} % of cases; without the model it is "
        f"{100 * guessed:.0f} %"
    )


def _recommendation(
    question: EndpointQuestion,
    conclusion: Conclusion,
    findings: Sequence[Finding],
    advice: Sequence[Advice],
) -> str:
    if conclusion == "leaks":
        if advice:
            return advice[0].sentence
        tried = joined([f"“{name}”" for name in policies_for(question.target)])
        if question.advise and tried:
            return (
                f"Do not let the model out as it is. None of the policies {tried} is certain to meet the "
                "thresholds: train it again so that it tells less, and audit it again."
            )
        return (
            "Do not let the model out as it is. An audit with --advise tries policies on the answers that "
            "it has; else train the model again so that it tells less, and audit it again."
        )
    if conclusion == "cannot tell":
        needed = dict.fromkeys(each.needed for each in findings if each.conclusion == conclusion)
        return f"Do not decide by this audit. What it needs: {'; '.join(filter(None, needed))}."
    return "As far as these attacks tell, the model may go out. Audit it again when it is trained again."


def _hidden(name: str) -> str:
    return kinds[MEMBERSHIP].hides if name == MEMBERSHIP else f"“{name}”"


def _largest(trials: Sequence[TrialResult]) -> list[TrialResult]:
    """Each attack's finished trial of the largest budget."""
    best: dict[tuple[str, str], TrialResult] = {}
    for trial in trials:
        if trial.state == "done":
            key = (trial.attack, trial.sensitive)
            if key not in best or best[key].budget < trial.budget:
                best[key] = trial
    return list(best.values())


def _made(trial: TrialResult) -> MadeAttack:
    question: Question = "membership" if trial.sensitive == MEMBERSHIP else "attribute"
    if trial.kind == "reconstruction":
        question = "reconstruction"
    return MadeAttack(
        attack=trial.attack,
        question=question,
        about=trial.sensitive,
        samples=trial.spent or 0,
        metrics=trial.metrics,
    )


def _subject(question: EndpointQuestion, records: int, fingerprint: str) -> SubjectEndpoint:
    target = question.target
    return SubjectEndpoint(
        name=target.name,
        owner=target.owner,
        authorised=target.authorised,
        addresses=tuple(dict.fromkeys(step.url for step in target.steps)),
        release=target.card.release,
        answers=target.card.answers,
        classes=tuple(target.card.classes),
        digest=target.digest(),
        version=target.version,
        data=question.data,
        records=records,
        fingerprint=fingerprint,
    )


def _unmade(attacks: Sequence[ChosenAttack]) -> list[str]:
    unmade = [each for each in attacks if each.in_scope and not each.made]
    return [f"In scope, and not made: {each.attack} ({each.why})." for each in unmade]


def _notes(results: RunResults) -> list[str]:
    failed = [trial for trial in results.trials if trial.state != "done"]
    if not failed:
        return []
    first = failed[0]
    return [f"{count(len(failed), 'trial')} came to no end: {first.attack}: {first.error or first.state}."]
