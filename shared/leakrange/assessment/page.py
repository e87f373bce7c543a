"""The document of an assessment as a page: one self-contained HTML file, which prints on A4."""

from __future__ import annotations

from typing import Any, Literal

from leakrange.assessment.annex import annex
from leakrange.assessment.document import Assessment, Finding, MadeAttack, PriceList
from leakrange.assessment.pictures import findings_picture, guessed, on_axis, price_picture
from leakrange.assessment.requests import Brief
from leakrange.metrics import Estimate, numbers
from leakrange.metrics.registry import described, in_order
from leakrange.report.charts.drawing import Picture
from leakrange.report.page import SCRIPT
from leakrange.report.rendering import page
from leakrange.wire.views import Tile

__all__ = ["assessment_page", "brief_of", "key_figures", "parts_of", "worst"]

Tone = Literal["plain", "good", "bad"]
TONES: dict[str, Tone] = {"leaks": "bad", "passes": "good", "cannot tell": "plain"}
CHIPS = {"passes": "done", "leaks": "failed", "cannot tell": "running"}
FOUND_MEMBERS = "tpr_at_001"
RIGHT_GUESSES, MOST_FREQUENT = "curiosity", "majority"


def assessment_page(assessment: Assessment) -> str:
    """The document as HTML that loads nothing. The first screen is for who decides: the headline, the grade,
    three figures, a picture and the recommendation. All else is folded, and unfolds in print.
    """
    return page("assessment.html.j2", script=SCRIPT, **parts_of(assessment))


def parts_of(assessment: Assessment) -> dict[str, Any]:
    """What the template of the document's parts takes."""
    return {
        "document": assessment,
        "annex": annex(assessment),
        "chips": CHIPS,
        "tiles": key_figures(assessment),
        "picture": findings_picture(assessment),
        "prices": _prices(assessment),
        "figures": _figures,
        "described": described,
        "interval": _interval,
        "money": _money,
    }


def brief_of(assessment: Assessment) -> Brief:
    """The document in a line of a list."""
    finding = worst(assessment)
    if finding is None:
        return Brief(grade=assessment.grade, worst="no attack gave a figure", lead=None)
    measure = described(finding.metric)
    figure = f"{measure.title} {numbers.figure(finding.value, measure.unit)}"
    lead = _lead(finding) if on_axis(finding) else None
    return Brief(grade=assessment.grade, worst=f"{figure} on {finding.about}, by {finding.attack}", lead=lead)


def worst(assessment: Assessment) -> Finding | None:
    """The finding that a reader has to know first: one that leaks before others, of these the one that leads
    most over what can be guessed without the model. None where no finding has a figure."""

    def rank(finding: Finding) -> tuple[bool, float]:
        return finding.conclusion == "leaks", _lead(finding)

    return max((each for each in assessment.findings if each.value is not None), key=rank, default=None)


def _lead(finding: Finding) -> float:
    value = finding.value or 0.0
    base = guessed(finding.control) if on_axis(finding) else finding.control or 0.0
    turned = on_axis(finding) and finding.control is None  # the wrong way round tells as much
    return abs(value - base) if turned else value - base


def key_figures(assessment: Assessment) -> list[Tile]:
    """The three figures of the first screen.

    What the strongest attack tells, beside what can be guessed without the model: it alone decides whether
    the model leaks. What that means for people: how many members are found by who accuses hardly anybody
    else, or how many guesses of an attribute are right; an AUC says that to nobody. What it took, since a
    quota and a price are what a provider can change tomorrow.
    """
    finding = worst(assessment)
    return [_strongest(finding), _for_people(assessment, finding), _effort(assessment)]


def _strongest(finding: Finding | None) -> Tile:
    if finding is None:
        return Tile("The strongest attack", numbers.MISSING, "no attack gave a figure; the findings say why")
    measure = described(finding.metric)
    within = _interval(finding.low, finding.high, measure.name)
    without = "nothing can be guessed without the model"
    if finding.question == "membership" and measure.name == "auc":  # the meaning of an AUC
        shares = [numbers.percent(each) for each in (finding.value, guessed(finding.control))]
        without = (
            f"of two people it picks the member in {shares[0]} of cases, without the model in {shares[1]}"
        )
    elif finding.control is not None:
        without = f"without the model {numbers.figure(finding.control, measure.unit)} can be guessed"
    elif on_axis(finding):
        without = f"guessing gives {numbers.figure(guessed(None), measure.unit)}"
    beside = f"{measure.title} of {finding.attack}{f', {within} (95 %)' if within else ''}; {without}"
    value = numbers.figure(finding.value, measure.unit)
    return Tile(f"The strongest attack: {finding.about}", value, beside, TONES[finding.conclusion])


def _for_people(assessment: Assessment, finding: Finding | None) -> Tile:
    """What it means for people, by the kind of the worst finding; what the records can show where nothing of
    that kind was measured."""
    question = "membership" if finding is None else finding.question
    if question == "membership" and (tile := _found_members(assessment)) is not None:
        return tile
    made = [each for each in assessment.attacks if finding is not None and each.about == finding.about]
    for each in made:
        right, usual = (each.metrics.get(name) for name in (RIGHT_GUESSES, MOST_FREQUENT))
        if finding is not None and each.attack == finding.attack and right and usual:
            beside = f"by {each.attack}; naming the most frequent class alone is right in {_share(usual)}"
            tone = TONES[finding.conclusion] if right.value > usual.value else "plain"
            return Tile(f"Guesses of {each.about} that are right", _share(right), beside, tone)
    seen = [each.visible for each in assessment.plan.power if each.visible is not None]
    figure = numbers.score(max(seen)) if seen else numbers.MISSING
    return Tile(
        "Least lead that these records show", figure, "a smaller one is missed in more than 2 of 10 cases"
    )


def _found_members(assessment: Assessment) -> Tile | None:
    """Of the attacks on membership, the one that finds most members while 1 % of the others are accused."""
    rates = [
        (each.metrics[FOUND_MEMBERS], each.attack)
        for each in assessment.attacks
        if each.question == "membership" and FOUND_MEMBERS in each.metrics
    ]
    if not rates:
        return None
    rate, attack = max(rates, key=lambda each: each[0].value)
    within = _interval(rate.low, rate.high, FOUND_MEMBERS)
    most = f"the most of {numbers.count(len(rates), 'attack')}, by {attack}"
    beside = f"{most}{f', {within} (95 %)' if within else ''}; guessing finds {numbers.percent(0.01)}"
    tone: Tone = "bad" if rate.value > assessment.plan.thresholds.found_members else "plain"
    return Tile("Members found while 1 % of the others are accused", _share(rate), beside, tone)


def _effort(assessment: Assessment) -> Tile:
    """Samples that were answered, their price, and how few would have done."""
    plan, prices = assessment.plan, assessment.prices
    parts = ["the target's file names no price"]
    if plan.money is not None and plan.samples:
        parts = [
            f"{_money(plan.money / plan.samples * assessment.spent, plan.currency)} at the target's price"
        ]
    parts += [
        f"{each.attack} has nine tenths of its lead on {each.about} after {each.enough:,}"
        for each in prices
        if each.enough is not None
    ][:1]
    return Tile("Samples that were asked", f"{assessment.spent:,}", "; ".join(parts))


def _prices(assessment: Assessment) -> list[tuple[PriceList, Picture | None]]:
    """The price lists, each with its picture."""
    bound = assessment.plan.thresholds.bound
    return [(each, price_picture(each, bound)) for each in assessment.prices]


def _figures(attack: MadeAttack) -> list[str]:
    """An attack's figures in words, in the order of reports: "AUC 0.742 (0.701 to 0.783)"."""
    written = []
    for name in in_order(attack.metrics):
        measure, estimate = described(name), attack.metrics[name]
        within = _interval(estimate.low, estimate.high, name)
        figure = numbers.figure(estimate.value, measure.unit)
        written.append(f"{measure.title} {figure}{f' ({within})' if within else ''}")
    return written


def _interval(low: float | None, high: float | None, metric: str) -> str:
    measure = described(metric)
    return "" if low is None or high is None else numbers.interval((low, high), measure.unit, measure.lowest)


def _share(estimate: Estimate) -> str:
    return numbers.percent(estimate.value)


def _money(money: float | None, currency: str) -> str:
    return numbers.MISSING if money is None else f"{money:,.2f}{numbers.SPACE}{currency}".rstrip()
