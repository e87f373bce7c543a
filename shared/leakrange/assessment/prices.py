"""What leakage costs in samples: the price list of an audit."""

from __future__ import annotations

from leakrange.assessment.document import PriceList, PricePoint, Thresholds
from leakrange.metrics.verdict import judge
from leakrange.report.findings import Findings, Subject, leaked
from leakrange.scenario.gains import reached
from leakrange.scenario.results import Summary

__all__ = ["price_lists", "without_model"]

AUC = "auc"
EACH_RECORD = "membership"
"""The kind of attack that learns of each record by the record's own answers."""
MOST_OF_IT = 0.9
"""The share of its final lead from which an attack has got what there is to get."""
ALIKE = 10
"""Keys that collude, for the sentence."""


def price_lists(findings: Findings, price: str, thresholds: Thresholds) -> list[tuple[Subject, PriceList]]:
    """What the strongest undefended attack on each subject gets at each budget that was tried, where its
    figure is an AUC. ``price`` is of one sample, with its currency, or ""."""
    return [
        (subject, _price_list(findings, subject, price, thresholds))
        for subject in findings.subjects
        if findings.open(subject) is not None and subject.metric.name == AUC
    ]


def without_model(row: Summary) -> float | None:
    """The AUC of who has the records and not the model; None where no such control was made."""
    return next(
        (value for each in ("imputation_auc", "blind_auc") if (value := row.mean(each)) is not None), None
    )


def _price_list(findings: Findings, subject: Subject, price: str, thresholds: Thresholds) -> PriceList:
    strongest = findings.open(subject)
    assert strongest is not None  # it is asked of subjects that were tried
    each = float(price.split()[0]) if price else None
    rows = {
        _spent(findings, row): row
        for row in findings.summaries
        if Subject.of(row) == subject
        and (row.attack, row.defence, row.knowledge)
        == (strongest.attack, findings.undefended, strongest.knowledge)
        and row.count
    }
    points: list[PricePoint] = []
    allowed: list[bool | None] = []
    most = None
    for samples, row in sorted(rows.items()):
        spread = findings.spread(row, subject.metric)
        low, high = (None, None) if spread is None else spread.within()
        cost = None if each is None else each * samples
        points.append(PricePoint(samples=samples, value=leaked(row), low=low, high=high, money=cost))
        verdict = judge([findings.reached(row)], little=thresholds.little, bound=thresholds.bound)
        # A provider serves one model: the quota has to hold for that of each seed.
        leads = [reached([trial]).strength for trial in findings.trials(row)]
        within = verdict.word != "leaks" and max(leads) <= thresholds.bound
        # No lead of an attack that learnt nothing, under some seed, is neither good nor bad.
        allowed.append(None if within and findings.reached(row).constant else within)
        most = verdict.most
    way = {samples: findings.way(row) for samples, row in rows.items()}
    enough = _enough(way)
    quota = _quota([point.samples for point in points], allowed)
    return PriceList(
        about=subject.sensitive,
        attack=strongest.attack,
        points=tuple(points),
        control=without_model(strongest),
        enough=enough,
        quota=quota,
        sentence=_each_record(points[0].samples, strongest)
        if strongest.kind == EACH_RECORD
        else _sentence(enough, quota, [point.samples for point in points], allowed, most),
    )


def _each_record(samples: int, row: Summary) -> str:
    """Of attacks on membership: they learn of each record by its own answers, whatever the others are."""
    records = row.mean("records") or float(samples)
    return (
        f"The attack asks {samples / records:.1f} samples for each record. A quota limits how many people are"
        " found, not how surely each is."
    )


def _spent(findings: Findings, row: Summary) -> int:
    return max((trial.spent or trial.budget for trial in findings.trials(row)), default=row.budget)


def _enough(way: dict[int, float]) -> int | None:
    """The least number of samples from which on the attack keeps nine tenths of its final lead."""
    final = way[max(way)]
    if final <= 0.0:
        return None
    least = None
    for samples in sorted(way, reverse=True):
        if way[samples] < MOST_OF_IT * final:
            break
        least = samples
    return least


def _quota(samples: list[int], allowed: list[bool | None]) -> int | None:
    """The greatest number up to which no number is beyond the threshold, and from which the attack learnt
    something."""
    quota = None
    for number, good in zip(samples, allowed, strict=True):
        if good is False:
            break
        quota = number if good else quota
    return quota


def _sentence(
    enough: int | None,
    quota: int | None,
    samples: list[int],
    allowed: list[bool | None],
    most: float | None,
) -> str:
    """``most``: the lead that the figure of the most samples leaves open; None where nothing tells."""
    if allowed[-1] is None:
        return f"From {samples[-1]:,} samples the attack learnt nothing of some model: no quota follows."
    if enough is None:
        doubt = "how uncertain that is nothing tells" if most is None else f"one of {most:.2f} is left open"
        return f"Up to {samples[-1]:,} samples the attack has no lead in the mean; {doubt}."
    first = f"With {enough:,} samples the attack has nine tenths of what it gets with {samples[-1]:,}."
    if quota is None:
        least = next(number for number, good in zip(samples, allowed, strict=True) if good is not None)
        which = "that was tried" if least == samples[0] else "from which the attack learnt anything"
        return f"{first} A quota of {least:,} samples, the smallest {which}, is already too much."
    if quota == samples[-1]:
        return (
            f"{first} No number of samples that was tried leads by more than the threshold, or surely leaks."
        )
    shared = max(1, quota // ALIKE)
    return (
        f"{first} Up to {quota:,} samples it neither leads by more than the threshold nor surely leaks; "
        f"{ALIKE} keys that collude reach that with {shared:,} each."
    )
