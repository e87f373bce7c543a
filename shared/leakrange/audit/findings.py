"""The tests of an audit, each a function from a case to a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from leakrange.audit.case import Case
from leakrange.audit.curiosity import curiosity
from leakrange.audit.entropy import entropy_excess
from leakrange.audit.population import error_rates
from leakrange.audit.viciousness import viciousness
from leakrange.audit.wording import meaning
from leakrange.data.resembling import groups_of
from leakrange.jobs.audit import KnownScores, TestName
from leakrange.jobs.verdict import Finding, Known, concluded
from leakrange.metrics import student_interval
from leakrange.metrics.verdict import LITTLE
from leakrange.wire.errors import InvalidInput
from leakrange.wire.heads import answers

__all__ = ["FINDINGS", "known"]

EXCESS = 0.1
"""Bits of entropy excess above which a model is suspicious. The value is ours: the paper names no figure."""


def _viciousness(case: Case) -> Finding:
    settings, classifier = case.plan.viciousness, case.model.classifier
    if classifier is None:
        raise InvalidInput(
            f"{case.model.net} cannot be trained further here, which the test of viciousness needs",
            hint="make the tests of entropy and curiosity",
        )
    movement = viciousness(
        classifier,
        case.values(case.labelled),
        case.labels[case.labelled],
        case.values(case.test),
        settings,
        case.plan.seed,
    )
    each = (1.0 - movement.cosines) / 2.0
    interval = student_interval(float(each.mean()), float(each.std(ddof=1)), len(each))
    truth, heads = case.labels[case.test], case.model.heads
    figures = {
        "v": float(movement.v[-1]),
        "cosine": float(movement.cosines.mean()),
        "accuracy_before": float((answers(movement.before, heads) == truth).mean()),
        "accuracy_after": float((answers(movement.after, heads) == truth).mean()),
    }
    return _finding(
        case,
        "viciousness",
        settings.model_dump(mode="json"),
        interval,
        settings.threshold,
        figures,
        movement.v.tolist(),
    )


def _entropy(case: Case) -> Finding:
    logits = case.model.logits(case.values(case.test))
    group = groups_of(case.data)[case.test]
    excess = entropy_excess(logits, case.labels[case.test], case.model.heads, group)
    figures = {
        "excess_bits": excess.excess,
        "entropy_bits": excess.entropy,
        "cross_entropy_bits": excess.cross_entropy,
    }
    return _finding(case, "entropy", {}, excess.interval, EXCESS, figures)


def _curiosity(case: Case) -> Finding:
    name = case.plan.sensitive
    if name is None or name not in case.data.attributes:
        attributes = ", ".join(sorted(case.data.attributes))
        raise InvalidInput(f"{case.data.name!r} has no attribute {name!r}; it has: {attributes}")
    truth = case.data.labels[name]
    parts = [indices[truth[indices] >= 0] for indices in (case.labelled, case.test)]
    logits = [case.model.logits(case.values(indices)) for indices in parts]
    first, second = (_decisions(values, case.model.heads) for values in logits)
    groups = groups_of(case.data, name)
    result = curiosity(
        logits[0],
        truth[parts[0]],
        logits[1],
        truth[parts[1]],
        classes=len(case.data.attributes[name].classes),
        decisions=(first, second),
        release="logits",
        seed=case.plan.seed,
        groups=(groups[parts[0]], groups[parts[1]]),
    )
    figures = {
        "beyond": result.beyond.value,
        "auc": result.auc,
        "by_decision": result.by_decision,
        "accuracy": result.accuracy,
        "majority": result.majority,
        "constant": float(result.constant),
        "labelled": float(result.labelled),
        "tested": float(result.tested),
    }
    low, high = result.beyond.low, result.beyond.high
    assert low is not None
    assert high is not None
    return _finding(case, "curiosity", {"sensitive": name}, (low, high), LITTLE, figures)


def _decisions(logits: NDArray[np.float32], heads: tuple[int, ...]) -> NDArray[np.int64]:
    """A number (B,) for each combination of decisions."""
    decided = answers(logits, heads)
    if len(heads) == 1:
        return decided
    codes = np.zeros(len(decided), dtype=np.int64)
    for head, size in enumerate(heads[:40]):  # more would not fit a number, and hardly ever repeat
        codes = codes * size + decided[:, head]
    return codes


def _finding(
    case: Case,
    test: TestName,
    settings: dict[str, object],
    interval: tuple[float, float],
    threshold: float,
    figures: dict[str, float],
    rounds: list[float] | None = None,
) -> Finding:
    """The finding whose score is the first of the ``figures``. An attack that gives everybody the same score
    has learnt nothing and decides nothing."""
    conclusion = "undecided" if figures.get("constant") else concluded(interval, threshold)
    population = case.plan.known.get(test)
    return Finding(
        test=test,
        settings=settings,
        score=next(iter(figures.values())),
        interval=interval,
        threshold=threshold,
        figures=figures,
        rounds=rounds or [],
        known=None if population is None else known(population, threshold),
        conclusion=conclusion,
        meaning=meaning(test, conclusion, figures, interval, threshold),
    )


def known(scores: KnownScores, threshold: float) -> Known:
    """Error rates of a test with that threshold on models whose scores are known."""
    values = np.array([*scores.honest, *scores.dishonest])
    if not len(values):
        raise InvalidInput("a population of known models has at least one", hint="leave 'known' out")
    dishonest = np.repeat([False, True], [len(scores.honest), len(scores.dishonest)])
    rates = error_rates(values, dishonest, threshold)
    alarms, hits = rates.false_alarms, rates.detected
    return Known(
        source=scores.source,
        honest=alarms.of,
        dishonest=hits.of,
        false_alarms=alarms.share if alarms.of else None,
        false_alarms_interval=alarms.interval,
        detected=hits.share if hits.of else None,
        detected_interval=hits.interval,
        auc=rates.auc,
        auc_interval=rates.auc_interval,
        allowing=rates.allowing_threshold,
    )


FINDINGS: Mapping[TestName, Callable[[Case], Finding]] = {
    "viciousness": _viciousness,
    "entropy": _entropy,
    "curiosity": _curiosity,
}
