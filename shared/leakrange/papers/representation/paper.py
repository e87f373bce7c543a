"""TAPPFL as trials of a range: Table 2, Figures 2 and 4, and the comparisons of its discussion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from leakrange.metrics.intervals import student_interval
from leakrange.papers import papers
from leakrange.papers.cells import Cell, figures_of, mean_text
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.representation.pictures import compared, tradeoffs
from leakrange.papers.sheet import read_sheet
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Picture

__all__ = ["RepresentationLearning", "RepresentationSettings"]

ASKED = MappingProxyType({"cifar10": "object", "adult": "income", "loans": "affordability"})
PRIVATE = MappingProxyType(
    {"animal": "animal", "race": "race", "gender": "gender", "marital": "marital-status"}
)
PLAYED = MappingProxyType({"hmda": {"affordability": "high-priced", "race": "race-2"}})
"""Attributes that play the paper's where a set calls them otherwise."""
BY_SET = ("rounds", "pretraining", "local_epochs", "batch")
"""Settings that pictures have by themselves."""

Epochs = Annotated[int, Field(ge=1, le=1000)]
Limit = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0.0, le=1.0)]
Batch = Annotated[int, Field(ge=8, le=4096)]


class RepresentationSettings(PaperSettings):
    """The data sets that play the paper's, the nets, and the length of training.

    ``loans`` may be the paper's own (``loans``, files of the FHFA) or its stand-in ``hmda``, of which
    ``loans_limit`` samples of each split are used. ``critics`` and ``picture_net`` are the paper's, or
    "small" and ``tappfl-small`` for a CPU. ``picture_…`` are settings of CIFAR-10, the others of tables. The
    paper does not state the number of rounds before anything is hidden (``pretraining``), nor how the task is
    learned on the extractor's features: ``task_epochs`` in batches of 128.
    """

    cifar10: str = "cifar10"
    adult: str = "adult"
    loans: str = "hmda"
    loans_limit: Limit | None = None
    critics: Literal["paper", "small"] = "paper"
    picture_net: str = "tappfl-conv"
    lr: Rate = 0.01
    batch: Batch = 10
    devices: Annotated[int, Field(ge=2, le=10_000)] = 100
    share: Rate = 0.1
    rounds: Epochs = 20
    pretraining: Annotated[int, Field(ge=0, le=1000)] = 5
    local_epochs: Epochs = 10
    picture_batch: Batch = 10
    picture_rounds: Epochs = 20
    picture_pretraining: Annotated[int, Field(ge=0, le=1000)] = 5
    picture_local_epochs: Epochs = 10
    task_epochs: Epochs = 6
    task_lr: Rate = 3e-3


@papers.register("tappfl")
class RepresentationLearning(Paper):
    """Arevalo et al., AAAI 2024."""

    sheet = read_sheet(__package__)
    Settings = RepresentationSettings
    settings: RepresentationSettings

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        """The row's data set with its attributes, and the training on it."""
        settings, pictures = self.settings, row["set"] == "cifar10"
        limit = settings.loans_limit if row["set"] == "loans" else None
        return {
            "data": self._set(row),
            "hidden": self._private(row),
            "task": self._attribute(row, ASKED[row["set"]]),
            "limit": limit,
            "limited": f", {limit:,} samples of each split" if limit else "",
            "net": settings.picture_net if pictures else "tappfl-mlp",
            "participation": "chosen" if row.table == "chosen" else None,
            "defended": _defended(row),
        } | {name: getattr(settings, f"picture_{name}" if pictures else name) for name in BY_SET}

    def _set(self, row: PaperRow) -> str:
        return str(getattr(self.settings, row["set"]))

    def _attribute(self, row: PaperRow, name: str) -> str:
        return PLAYED.get(self._set(row), {}).get(name, name)

    def _private(self, row: PaperRow) -> str:
        return self._attribute(row, PRIVATE[row["private"]])

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The notes of one row: means over its seeds, and of a bound the least of all seeds."""
        cells = measured[row]
        if not cells:
            return [""] * 6
        least = [figures_of(cells, name) for name in ("accuracy_bound", "loose_accuracy_bound")]
        return [
            _over_seeds([100 * area for area in figures_of(cells, "auc")]),
            _means(cells, "majority", "majority_target"),
            _means(cells, "nag", "local_nag"),
            _means(cells, "advantage"),
            ", ".join(f"{100 * min(figures):.1f}" if figures else "–" for figures in least),
            _epsilons(cells[0]),
        ]

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """The losses against λ for Table 2 (Figure 2), and both accuracies of each method for Figure 4."""
        if table == "2":
            defended = {row: cells for row, cells in measured.items() if row["method"] != "none"}
            return tradeoffs(defended, {row: f"{self._set(row)}, {self._private(row)}" for row in defended})
        return compared(measured) if table == "fig4" else []

    def words(self) -> Mapping[str, Any]:
        """The length of training."""
        settings = self.settings
        return {"passes": (settings.pretraining + settings.rounds) * settings.local_epochs}


def _defended(row: PaperRow) -> str:
    """The method with its level."""
    method, level = row["method"], row["level"]
    if method == "none":
        return "no defence"
    if method == "MC":
        return f"MC {level} pruned"
    return f"{method}, {'λ' if method in ('TAPPFL', 'DPFE', 'AT') else 'noise'} = {level}"


def _means(cells: Sequence[Cell], *names: str) -> str:
    return ", ".join(mean_text(cells, name, decimals=1, scale=100.0) for name in names)


def _over_seeds(values: Sequence[float]) -> str:
    """The mean with its 95 % interval (Student's t). A single seed tells nothing of others, and has no
    interval."""
    if not values:
        return "–"
    if len(values) < 2:
        return f"{values[0]:.1f}"
    low, high = student_interval(fmean(values), stdev(values), len(values))
    return f"{fmean(values):.1f} ({low:.1f} to {high:.1f})"


def _epsilons(cell: Cell) -> str:
    if "epsilon_server" not in cell:
        return "–"
    return f"{cell['epsilon_server']:.3g}, {cell['epsilon_extractor']:.3g}"
