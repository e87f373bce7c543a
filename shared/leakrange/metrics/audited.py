"""The figures of an audit, read off its verdict."""

from __future__ import annotations

from leakrange.jobs.audit import TestName
from leakrange.jobs.verdict import Verdict
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.registry import metric

__all__: list[str] = []

TESTED = "over the audit's test samples"


def _score(verdict: Verdict, test: TestName) -> Estimate | None:
    result = verdict.of(test)
    return None if result is None else Estimate.within(result.score, result.interval)


def _figure(verdict: Verdict, test: TestName, name: str) -> float | None:
    result = verdict.of(test)
    return None if result is None else result.figures.get(name)


@metric(
    "viciousness", measures=Verdict, title="viciousness v", unit="score", role="suspicion", rank=70,
    interval=f"{TESTED} (Student's t)",
    claim="trained on for its task alone, its outputs move by v = {value}",
    equation="(1 − C) / 2, C the cosine similarity of outputs before and after the last round of further "
    "training (VICIOUS, Eqs. 19 and 20)",
)  # fmt: skip
def _viciousness(verdict: Verdict) -> Estimate | None:
    return _score(verdict, "viciousness")


@metric(
    "cosine", measures=Verdict, title="cosine similarity", unit="score", role="context", rank=71,
    equation="of outputs before and after the last round of further training (VICIOUS, Eq. 19)",
)  # fmt: skip
def _cosine(verdict: Verdict) -> float | None:
    return _figure(verdict, "viciousness", "cosine")


@metric(
    "suspected", measures=Verdict, title="suspected", unit="share", role="suspicion", rank=72,
    equation="models whose v is above the threshold: of honest ones false alarms, of others detections",
)  # fmt: skip
def _suspected(verdict: Verdict) -> float | None:
    result = verdict.of("viciousness")
    return None if result is None else float(result.score > result.threshold)


@metric(
    "entropy_excess", measures=Verdict, title="entropy excess", unit="bits", role="suspicion", rank=73,
    interval=TESTED, equation="H(ŷ) − H_y(ŷ): entropy beyond what its mistakes call for (VICIOUS, Eq. 13)",
)  # fmt: skip
def _entropy_excess(verdict: Verdict) -> Estimate | None:
    return _score(verdict, "entropy")


@metric(
    "curiosity_excess", measures=Verdict, title="curiosity beyond decisions", unit="score", role="suspicion",
    rank=74, interval=f"{TESTED}, paired (DeLong; Obuchowski; Zou and Donner)", version=2,
    equation="AUC of the attribute read off outputs, less that read off decisions (HBC, Section 6.1)",
)  # fmt: skip
def _curiosity_excess(verdict: Verdict) -> Estimate | None:
    return _score(verdict, "curiosity")


@metric(
    "accuracy_before", measures=Verdict, title="accuracy before further training", unit="share",
    role="context", rank=75, equation="of the model's task, on the audit's test samples",
)  # fmt: skip
def _accuracy_before(verdict: Verdict) -> float | None:
    return _figure(verdict, "viciousness", "accuracy_before")


@metric(
    "accuracy_after", measures=Verdict, title="accuracy after further training", unit="share",
    role="context", rank=76, equation="of the model's task, on the audit's test samples",
)  # fmt: skip
def _accuracy_after(verdict: Verdict) -> float | None:
    return _figure(verdict, "viciousness", "accuracy_after")
