"""The results of a run as data: the one input of the report, the CSV and the JSON that users download."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakrange.metrics.estimate import Estimate, OverSeeds
from leakrange.scenario.under_load import Loaded
from leakrange.strict import Strict
from leakrange.wire.runs import State

__all__ = [
    "Curve",
    "ModelResult",
    "Reconstructions",
    "RunResults",
    "Summary",
    "TrialResult",
    "Varied",
]


class Curve(Strict):
    """A ROC curve: false and true positive rates in [0, 1], ascending, at most 101 points."""

    fpr: list[float]
    tpr: list[float]


class Reconstructions(BaseModel):
    """Pictures of some users side by side: what they put in, and what an attack made of it (base64 PNG), with
    its figures by metric, a list with one for each user."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, list[float]]

    original: str
    reconstructed: str

    @property
    def figures(self) -> dict[str, list[float]]:
        """By the names of metrics."""
        return self.__pydantic_extra__


class ModelResult(Strict):
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


class Varied(Strict):
    """Everything that a scenario varies but the seed."""

    kind: str
    """Of the attack, see `leakrange.attacks.kinds`."""
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


class TrialResult(Varied):
    """One cell of the matrix: what was varied, how far it is, and what was measured.

    ``metrics`` are of `leakrange.metrics.registry`, by name; ``views`` what pictures are drawn from, such as
    "roc" (`Curve`), "reconstructions" (`Reconstructions`) and "confusion" (rows the true class, columns the
    guessed one). Of an attack on
    membership, ``sensitive`` is "membership", and ``victims`` are the records of the test half.
    """

    id: str
    seed: int
    state: State | Literal["refused"] = "queued"
    """``refused``: a limit of the proxy gave no more answers before this budget was reached."""
    error: str | None = None
    victims: int | None = None
    spent: int | None = None
    """Samples that the attack had answered (outside) or saw uploaded (inside)."""
    metrics: dict[str, Estimate] = {}
    views: dict[str, Any] = {}

    def value(self, metric: str) -> float | None:
        """The value of a metric; None where it was not measured."""
        return self.metrics[metric].value if metric in self.metrics else None


class Summary(Varied):
    """Trials that differ by seed alone, put together; ``count`` is the number of finished ones."""

    count: int
    metrics: dict[str, OverSeeds] = {}

    def mean(self, metric: str) -> float | None:
        """The mean of a metric over seeds; None where no trial has it."""
        return self.metrics[metric].mean if metric in self.metrics else None


class RunResults(Strict):
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
    classes: dict[str, dict[str, list[str]]] = {}
    """Per data set and attribute the names of the classes."""
    trials: list[TrialResult]
    models: list[ModelResult]
    summaries: list[Summary] = []
    ledger: list[dict[str, Any]] = []
    """Per API key: name, policy, budget, spent samples, distinct samples."""
    seconds: float | None = None
    load: Loaded | None = None
