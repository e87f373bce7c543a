"""The forms of an assessment: its plan, and the document that it ends with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leakrange.metrics.estimate import Estimate
from leakrange.metrics.verdict import Grade
from leakrange.strict import Strict

__all__ = [
    "Advice",
    "Assessment",
    "AssessmentPlan",
    "ChosenAttack",
    "Conclusion",
    "Finding",
    "MadeAttack",
    "Power",
    "PriceList",
    "PricePoint",
    "Question",
    "SubjectEndpoint",
    "Thresholds",
]

Conclusion = Literal["passes", "leaks", "cannot tell"]
Question = Literal["membership", "attribute", "reconstruction", "other"]
Share = Annotated[float, Field(gt=0.0, lt=1.0)]


class Thresholds(Strict):
    """What counts as a leak, in shares beyond chance and beyond what can be guessed without the model.

    A model leaks where an attack is certain to lead, and its lead may be more than ``little``. It passes
    where no attack may lead by more than ``bound``. For an AUC a lead of 0.10 is an AUC of 0.60.
    ``found_members`` is the share of the members that may be found while 1 % of the others are accused.
    """

    little: Share = 0.05
    bound: Share = 0.10
    found_members: Share = 0.05


class ChosenAttack(Strict):
    """A registered attack, and whether it is made.

    ``in_scope``: whether the target, the records and the threat model allow it, and it could find more than
    those that are made. ``why`` is the reason that it is not made; "" where it is. ``samples`` are what it
    asks, part of which others ask as well. ``grants`` is what its threat model gives the attacker.
    """

    attack: str
    question: Question
    in_scope: bool
    made: bool
    why: str = ""
    samples: int = 0
    grants: tuple[str, ...] = ()

    @property
    def making(self) -> str:
        """Whether it is made, in words."""
        return "yes" if self.made else "no, though in scope" if self.in_scope else "no"


class Power(Strict):
    """What so many records can show about one hidden thing.

    ``cases`` and ``others`` are the records of either side. ``visible`` is the least lead that is found in 8
    of 10 assessments, as a share; None where it cannot be told beforehand. ``enough``: whether that is within
    the bound of the thresholds. ``needed``: the number of cases, with as many others, from which it is.
    ``rates`` are sentences on rates that these records can bound, or cannot.
    """

    about: str
    cases: int
    others: int
    visible: float | None
    enough: bool
    needed: int
    rates: tuple[str, ...] = ()


class AssessmentPlan(Strict):
    """What would be done. ``scenario`` is the run that does it, as YAML. ``samples`` is what the target is
    asked in all, and the parts of it; ``money`` is their price, in ``currency``; ``seconds`` is what asking
    takes at least by the target's rate, 0 where it has none. ``trained``: models that attackers train."""

    name: str
    scenario: str
    attacks: tuple[ChosenAttack, ...]
    power: tuple[Power, ...]
    samples: int
    uploads: int
    money: float | None = None
    currency: str = ""
    seconds: float = 0.0
    trained: int = 0
    thresholds: Thresholds = Thresholds()

    @property
    def unmade(self) -> list[ChosenAttack]:
        """The attacks that are in scope and not made: without them nothing passes."""
        return [each for each in self.attacks if each.in_scope and not each.made]

    def sentences(self) -> list[str]:
        """What the plan asks, costs, and can show."""
        price = "" if self.money is None else f", {self.money:,.2f} {self.currency}"
        time = "" if not self.seconds else f", {self.seconds:,.0f} s at the target's rate"
        lines = [f"asked: {self.samples:,} samples, of which users ask {self.uploads:,}{price}{time}"]
        if self.trained:
            lines.append(f"trained here: {self.trained} models of the attackers")
        for each in self.power:
            seen = "nothing" if each.visible is None else f"an AUC of {0.5 + each.visible:.2f}"
            enough = "" if each.enough else f"; to pass takes about {each.needed:,} of either side"
            lines.append(
                f"{each.about}: with {each.cases:,} records of one side and {each.others:,} of the other"
                f" {seen} is seen in 8 of 10 audits{enough}"
            )
            lines += [f"  {sentence}" for sentence in each.rates]
        return lines


class SubjectEndpoint(Strict):
    """The model that was asked: by whom it is run, where, on whose permission, and what it releases.

    ``digest`` names everything in the target's file that decides its answers, ``version`` is what the file
    calls the model's version.
    """

    name: str
    owner: str
    authorised: str | None
    addresses: tuple[str, ...]
    release: str
    answers: str
    classes: tuple[str, ...]
    digest: str
    version: str | None = None
    data: str
    records: int
    fingerprint: str = ""
    """Of the records: SHA-256 of what the range loads, in hexadecimal."""


class MadeAttack(Strict):
    """An attack that was made, with its figures by metric. ``samples`` is its number of answers."""

    attack: str
    question: Question
    about: str
    samples: int
    metrics: dict[str, Estimate]


class Finding(Strict):
    """The conclusion about one hidden thing: an attribute, or who was in the training set.

    ``metric`` is the figure of the strongest ``attack``: ``value`` with its 95 % interval. ``control`` is
    what can be guessed without the model, in the same unit; None where nothing can. ``most`` is the greatest
    lead that is not excluded, as a share. ``sentence`` says it in words; ``why`` says what stood in the way
    where nothing can be told, and ``needed`` what would help. ``by_rate``: it leaks by the share of members
    that are found at few false alarms, whatever the figure is. ``z`` is by how many deviations the lead
    lies above those of known models that do not leak (`leakrange.assessment.known`); ``among`` says in words
    where it lies among these.
    """

    about: str
    question: Question
    conclusion: Conclusion
    attack: str = ""
    metric: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    control: float | None = None
    most: float | None = None
    visible: float | None = None
    sentence: str
    why: str = ""
    needed: str = ""
    by_rate: bool = False
    z: float | None = None
    among: str = ""


class PricePoint(Strict):
    """Leakage after so many answers: the AUC with its interval."""

    samples: int
    value: float
    low: float | None = None
    high: float | None = None
    money: float | None = None


class PriceList(Strict):
    """What the strongest attack on one hidden thing gets for its samples.

    ``control`` is the AUC of who has the records and not the model, None where there is none. ``enough``
    (Q90) is the number of samples from which the attack has nine tenths of its final lead; None where it
    leads by nothing. ``quota`` is the greatest number up to which it leads by no more than the bound of the
    thresholds, under any seed, and is not certain to leak; None where the smallest number that was tried is
    too much.
    ``sentence`` says both.
    """

    about: str
    attack: str
    points: tuple[PricePoint, ...]
    control: float | None = None
    enough: int | None = None
    quota: int | None = None
    sentence: str = ""


class Advice(Strict):
    """A policy that meets the thresholds: ``chain`` as policies are written, what leaks behind it, what it
    costs users (``utility`` before and ``after``), and the ``command`` that installs it at the proxy."""

    policy: str
    chain: str
    about: tuple[str, ...]
    leaks: float
    high: float | None
    utility: float | None
    after: float | None
    command: str
    sentence: str


class Assessment(Strict):
    """The document. ``grade`` is A to E, or "?" where nothing can be told. ``headline`` is one sentence,
    ``recommendation`` another. ``limits`` say what was not tried and does not follow."""

    format: Literal[1] = 1
    created: str
    subject: SubjectEndpoint
    plan: AssessmentPlan
    conclusion: Conclusion
    grade: Grade
    headline: str
    recommendation: str
    findings: tuple[Finding, ...]
    attacks: tuple[MadeAttack, ...]
    prices: tuple[PriceList, ...] = ()
    advice: tuple[Advice, ...] = ()
    limits: tuple[str, ...] = ()
    run: str = ""
    spent: int = 0
    seconds: float | None = None
    versions: dict[str, str] = {}
