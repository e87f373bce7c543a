"""A verdict: the document that an audit ends with. It says what was tested, with what, what came out, and
what that does not prove. Imports no torch."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from leakrange.jobs.audit import TestName
from leakrange.jobs.recipe import DataSpec
from leakrange.strict import Strict
from leakrange.wire.samples import SampleSpec

__all__ = ["AuditedModel", "Conclusion", "Finding", "Known", "Material", "Verdict", "concluded"]

Conclusion = Literal["passes", "suspicious", "undecided"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Pair = tuple[float, float]


class AuditedModel(Strict):
    """The model: its file's SHA-256 and size in bytes, and what the file says of itself. ``name`` and ``url``
    are where it came from, None for a file."""

    name: str | None
    url: str | None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: int
    net: str
    width: float
    parameters: int
    task: str
    classes: tuple[str, ...]
    heads: tuple[int, ...] | None
    input: SampleSpec


class Material(Strict):
    """The samples. ``fingerprint`` is that of the data set's content; ``labelled`` samples of the split
    ``labelled_from`` were trained on and fitted to, ``test`` ones of ``test_from`` were only looked at.

    ``disjoint``: whether they were kept apart from the model's training; None: nobody knows.
    """

    data: DataSpec
    fingerprint: str
    labelled: int
    labelled_from: str
    test: int
    test_from: str
    disjoint: bool | None


class Known(Strict):
    """How the test does on models whose behaviour is known (95 % intervals): the share of ``honest`` ones
    that it suspects, the share of ``dishonest`` ones, and the AUC, None where one kind is missing.

    ``allowing``: the lowest threshold that suspects at most 5 % of these honest models.
    """

    source: str
    honest: int
    dishonest: int
    false_alarms: Share | None
    false_alarms_interval: Pair
    detected: Share | None
    detected_interval: Pair
    auc: Share | None
    auc_interval: Pair | None
    allowing: float | None


class Finding(Strict):
    """What one test found.

    The model is suspicious where ``score``, whose 95 % ``interval`` over the test samples is given, is above
    ``threshold``; where the interval holds the threshold, the test does not decide. ``figures`` are all its
    figures by name, ``rounds`` the score after each round of further training.
    """

    test: TestName
    settings: dict[str, Any]
    score: float
    interval: Pair
    threshold: float
    figures: dict[str, float]
    rounds: list[float] = []
    known: Known | None = None
    conclusion: Conclusion
    meaning: str


class Verdict(Strict):
    """The whole document; ``made`` is ISO 8601 in UTC."""

    format: Literal[1] = 1
    made: str
    subject: AuditedModel
    material: Material
    findings: Annotated[tuple[Finding, ...], Field(min_length=1)]
    conclusion: Conclusion
    confidence: str
    limits: tuple[str, ...]
    seed: int
    versions: dict[str, str]

    def of(self, test: TestName) -> Finding | None:
        """Return the finding of that test, if it was made."""
        return next((finding for finding in self.findings if finding.test == test), None)


def concluded(interval: Pair, threshold: float) -> Conclusion:
    """Return the conclusion from a score with that interval and a threshold."""
    low, high = interval
    if low > threshold:
        return "suspicious"
    return "passes" if high <= threshold else "undecided"
