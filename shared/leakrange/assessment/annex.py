"""The annex: what others call what was tested, and what of their lists was not tested, and why.

The identifiers stand in ``frameworks.yaml``. The annex claims compliance with none of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, Self

import yaml
from pydantic import model_validator

from leakrange.assessment.document import Assessment, ChosenAttack
from leakrange.strict import Strict

__all__ = ["CLAIM", "AnnexRow", "annex", "identifiers_of"]

CLAIM = "This annex says what was tested. It claims compliance with none of these."

AnnexState = Literal["executed", "in scope, not run", "not in scope"]
_Part = Literal["prices", "advice", "tests", "threats"]


class AnnexRow(Strict):
    """What an assessment says about one identifier of a framework.

    ``because`` says by what it was executed and with which conclusion, or why it was not. ``note`` says how
    the identifier is read here, and ``checked`` what identifier and title were held against.
    """

    framework: str
    identifier: str
    title: str
    state: AnnexState
    because: str
    note: str = ""
    checked: str = ""


class _Listed(Strict):
    id: str
    title: str
    attacks: frozenset[str] = frozenset()
    part: _Part | None = None
    never: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if [bool(self.attacks), self.part is not None, bool(self.never)].count(True) != 1:
            raise ValueError(f"{self.id} has one of 'attacks', 'part' and 'never'")
        return self


class _Framework(Strict):
    framework: str
    checked: str
    identifiers: tuple[_Listed, ...]


class _Answer(NamedTuple):
    state: AnnexState
    because: str


@cache
def _frameworks() -> tuple[_Framework, ...]:
    text = files(__package__).joinpath("frameworks.yaml").read_text(encoding="utf-8")
    return tuple(_Framework.model_validate(each) for each in yaml.safe_load(text))


def annex(assessment: Assessment) -> list[AnnexRow]:
    """A row for every identifier of every framework, in the order of the file."""
    return [
        AnnexRow(
            framework=framework.framework,
            identifier=listed.id,
            title=listed.title,
            note=listed.note,
            checked=framework.checked,
            **_answer(assessment, listed)._asdict(),
        )
        for framework in _frameworks()
        for listed in framework.identifiers
    ]


def identifiers_of(question: str) -> list[str]:
    """The identifiers of attacks that answer this question: "membership", "attribute", "reconstruction"."""
    return [
        listed.id
        for framework in _frameworks()
        for listed in framework.identifiers
        if question in listed.attacks
    ]


def _answer(assessment: Assessment, listed: _Listed) -> _Answer:
    if listed.never:
        return _Answer("not in scope", listed.never)
    if listed.part is not None:
        return _of_part(assessment, listed.part)
    return _of_attacks(assessment, listed.attacks)


def _of_attacks(assessment: Assessment, asked: frozenset[str]) -> _Answer:
    measured = {each.attack for each in assessment.attacks}
    listed = [each for each in assessment.plan.attacks if asked & {each.question, each.attack}]
    executed = [each.attack for each in listed if each.attack in measured]
    left = [each for each in listed if each.in_scope and each.attack not in measured]
    if executed:
        findings = [each for each in assessment.findings if each.question in asked]
        parts = [f"by {', '.join(executed)}", *(f"{each.about}: {each.conclusion}" for each in findings)]
        if left:
            parts.append(f"not run: {_reasons(left)}")
        return _Answer("executed", "; ".join(parts))
    if left:
        return _Answer("in scope, not run", _reasons(left))
    return _Answer("not in scope", _reasons(listed) or "no attack on it is known to this version")


def _reasons(attacks: Iterable[ChosenAttack]) -> str:
    """Each reason once, behind the attacks that it holds for."""
    names = defaultdict(list)
    for each in attacks:
        names[each.why or "it was planned, and its run gave no figure"].append(each.attack)
    return "; ".join(f"{', '.join(attacks)}: {why}" for why, attacks in names.items())


def _of_part(assessment: Assessment, part: _Part) -> _Answer:
    if part in ("prices", "advice"):
        sentences = [each.sentence for each in getattr(assessment, part)]
        if sentences:
            return _Answer("executed", " ".join(sentences))
        if assessment.conclusion != "leaks":
            return _Answer("not in scope", "no leak was found that it would have to stop")
        missing = "no price list was made" if part == "prices" else "no policy was tried on the answers"
        return _Answer("in scope, not run", missing)
    if not assessment.attacks:
        return _Answer("in scope, not run", "no attack has a figure")
    if part == "threats":
        grants = {grant for each in assessment.plan.attacks if each.made for grant in each.grants}
        return _Answer("executed", f"attackers were given {', '.join(sorted(grants)) or 'nothing'}")
    return _Answer("executed", _tests(assessment))


def _tests(assessment: Assessment) -> str:
    """Scope, frequency, quantity and quality of the tests, and what they are evidence of."""
    names = ", ".join(dict.fromkeys(each.attack for each in assessment.attacks))
    leads = [
        f"{each.about}: {'unknown' if each.visible is None else f'leads from {each.visible:.3f}'}"
        for each in assessment.plan.power
    ]
    return (
        f"evidence about {names} alone. Scope: {', '.join(each.about for each in assessment.findings)}. "
        f"Frequency: once, {assessment.created[:10]}. Quantity: {assessment.subject.records:,} records, "
        f"{assessment.spent:,} samples. Quality, as what is found in 8 of 10 such audits: {'; '.join(leads)}"
    )
