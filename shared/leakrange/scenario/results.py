"""What a run found, as data: the one input of the report, the CSV and the JSON that users download."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["Curve", "MembershipFigures", "ModelResult", "RunResults", "Summary", "TrialResult"]

State = Literal["queued", "running", "done", "failed", "cancelled"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Curve(_Strict):
    """A ROC curve: false and true positive rates in [0, 1], ascending, at most 101 points."""

    fpr: list[float]
    tpr: list[float]


class MembershipFigures(_Strict):
    """How well members of a training set were told from others, shares in [0, 1]; see
    `leakrange.metrics.membership.MembershipReport`.

    AUC's interval (over records; of an attack on people over these), its unsigned value, and the true
    positive rates at 1 % and 0.1 % false positives are of all records; the others of the test half, at the
    threshold that did best on the other.
    """

    records: int
    auc_interval: tuple[float, float]
    unsigned_auc: float
    tpr_at_001: float
    tpr_at_0001: float
    balanced_accuracy: float
    precision: float
    recall: float
    f1: float


class ModelResult(_Strict):
    """One trained model: what its training reached, and how its undefended outputs are distributed.

    Accuracies in [0, 1] on the users' samples; entropies in bits per output (HBC Fig. 8);
    ``entropy_histogram`` counts per bin of 20 equal bins from 0 to ``entropy_max`` = log2(number of classes).
    """

    provider: str
    seed: int
    data: str
    behaviour: str
    release: str
    target: str
    sensitive: str | None
    artifact: str
    parameters: int
    train_seconds: float
    entropy_mean: float | None = None
    entropy_max: float | None = None
    entropy_histogram: list[int] = []
    history: list[dict[str, float]] = []
    """Per epoch: training loss, validation honesty and curiosity, as far as the behaviour has them."""


class TrialResult(_Strict):
    """One cell of the matrix. Accuracies, AUC and shares in [0, 1]; ``auc`` and ``roc`` are one-vs-rest
    means where there are more than two classes.

    ``majority`` is the share of the commonest sensitive class among the victims; ``nag`` is (curiosity −
    majority) / (1 − majority), 0 where negative. ``honesty`` is the accuracy of the decisions that users got
    under this defence; of a student service how often it was right for its users, of features and distances
    by verification (`services.controller.range.served`). Of an attack on membership, ``sensitive`` is
    "membership", ``victims`` are the records of the test half, and ``curiosity`` is how often these are told
    right at the threshold.
    """

    id: str
    provider: str
    data: str
    behaviour: str
    release: str
    target: str
    sensitive: str
    defence: str
    attack: str
    knowledge: str
    budget: int
    seed: int
    state: State = "queued"
    error: str | None = None
    victims: int | None = None
    spent: int | None = None
    """Samples that the attack had answered (outside) or saw uploaded (inside)."""
    honesty: float | None = None
    curiosity: float | None = None
    majority: float | None = None
    nag: float | None = None
    auc: float | None = None
    roc: Curve | None = None
    confusion: list[list[int]] | None = None
    membership: MembershipFigures | None = None


class Summary(_Strict):
    """Trials that differ by seed alone, put together: mean, sample deviation, and 95 % interval (Student's t
    over seeds).

    With a single seed deviation and interval are None. ``count`` is the number of finished trials.
    """

    provider: str
    data: str
    behaviour: str
    release: str
    target: str
    sensitive: str
    defence: str
    attack: str
    knowledge: str
    budget: int
    count: int
    majority: float | None
    honesty: tuple[float, float | None, tuple[float, float] | None] | None
    """(mean, deviation, (low, high))"""
    curiosity: tuple[float, float | None, tuple[float, float] | None] | None
    auc: tuple[float, float | None, tuple[float, float] | None] | None
    nag: tuple[float, float | None, tuple[float, float] | None] | None
    tpr_at_001: tuple[float, float | None, tuple[float, float] | None] | None = None
    """Of attacks on membership: members found at 1 % of others accused, and at 0.1 %."""
    tpr_at_0001: tuple[float, float | None, tuple[float, float] | None] | None = None


class RunResults(_Strict):
    """A whole run: its state, scenario (as written and as expanded), trials, models, and the record needed to
    repeat it."""

    run: str
    name: str
    state: State
    created: str
    finished: str | None
    scenario_yaml: str
    scenario: dict[str, Any]
    environment: dict[str, str]
    """Versions of Leakrange, Python and libraries; the machine's processor count; versions of what trains."""
    data_notes: dict[str, list[str]] = {}
    trials: list[TrialResult]
    models: list[ModelResult]
    summaries: list[Summary] = []
    ledger: list[dict[str, Any]] = []
    """Per API key: name, policy, budget, spent samples, distinct samples."""
    seconds: float | None = None
