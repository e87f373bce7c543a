"""Honest-but-Curious Nets as trials of a range: Tables 1 to 9, Figures 4 and 9, and detection by entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from leakrange.metrics import auc, auc_interval
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.hbc.frontier import frontiers
from leakrange.papers.hbc.rows import PANEL, REFIT, again, extended
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.sheet import read_sheet
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Picture
from leakrange.report.document import PaperColumn

__all__ = ["HonestButCurious", "HonestButCuriousSettings"]

EPOCHS = 50
FULL_WIDTH = 128
PAPER_SIZE = 64
STUDENT_EPOCHS = 2
"""A student's epochs for each of the teacher's, which makes about as many steps."""
OTHER_HAIR = MappingProxyType(
    {"celeba_sub-hair": "celeba_sub-other-hair", "hub-celeba-hair": "hub-celeba-other-hair"}
)
"""Sets with more of a user's unlabelled images: those that the provider's set leaves out."""
POPULATION = 10
"""Fewest models of each kind for detection: fewer tell nothing of an AUC."""
PAPER_IMAGES = {"celeba": "more than 115,000 (the hair filter applied)", "utkface": "23,705"}
ALIKE = 0.4
"""The β^x of models that were trained to be sure of their outputs."""
WARM_SHARE = 1 / 3
"""Share of the epochs that is a warm start."""

Epochs = Annotated[int, Field(ge=1, le=1000)]


Patience = Annotated[int, Field(ge=1)] | None


class HonestButCuriousSettings(PaperSettings):
    """The data sets that play the paper's, and the length and way of training on each.

    Epochs are the most: with a ``patience`` a training ends after that many without a better one. ``size`` is
    the side of the pictures in pixels, ``limit`` keeps so many of each split, ``width`` scales the layers of
    F; ``passes`` is how often a step of the parameterized attack goes through F.
    """

    celeba: str = "celeba_sub-hair"
    utkface: str = "utkface"
    celeba_epochs: Epochs = EPOCHS
    utkface_epochs: Epochs = EPOCHS
    size: Annotated[int, Field(ge=16, le=512)] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    celeba_patience: Patience = None
    utkface_patience: Patience = None
    width: Annotated[float, Field(gt=0.0, le=2.0)] = 1.0
    bf16: bool = False
    passes: Literal["one", "two"] = "two"


@papers.register("hbc")
class HonestButCurious(Paper):
    """Malekzadeh, Borovykh and Gündüz, CCS 2021."""

    sheet = read_sheet(__package__)
    Settings = HonestButCuriousSettings
    settings: HonestButCuriousSettings

    @classmethod
    def rows(cls) -> tuple[PaperRow, ...]:
        """The paper's rows, those of other recipes, and the frontiers."""
        return extended(super().rows())

    def beside(self, row: PaperRow) -> Sequence[PaperRow]:
        """Rows of the readings of five nets and of the panel, which are fitted on the same model's
        releases."""
        return again(row)

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        """The settings of the row's data set, the width of F, and the weights of the losses."""
        settings, epochs = self.settings, self._epochs(row)
        more = OTHER_HAIR.get(settings.celeba)
        width = settings.width * int(row["width"].partition("-")[0] or FULL_WIDTH) / FULL_WIDTH
        # as 1 − β^s is computed, not as it is printed: so that both add up to 1
        weight = 1.0 - row.number("beta_s") if row["attack"] == "convex" else row.number("beta_y")
        return {
            "set": getattr(settings, row["data"], None),
            "epochs": epochs,
            "patience": getattr(settings, f"{row['data']}_patience", None),
            "warm_epochs": max(1, round(WARM_SHARE * epochs)),
            "student_epochs": STUDENT_EPOCHS * epochs,
            "net_width": None if width == 1.0 else width,
            "weight_y": weight,
            "knowledge": "aware" if row["prune"] else "unaware",
            "more": more,
            "others_asked": f", and for the training images of {more}" if more else "",
            "model": self._model(row),
        }

    def _epochs(self, row: PaperRow) -> int:
        """Epochs on the row's data set; points and digits have a schedule of their own."""
        return int(getattr(self.settings, f"{row['data']}_epochs", 0))

    def most(self, row: PaperRow, seeds: int) -> int:
        """The number of seeds: a whole population for detection."""
        return max(POPULATION, seeds) if row.table == "detection" else seeds

    def _model(self, row: PaperRow) -> str:
        model = "honest, overlearning on " + row["output"]
        if row["classifier"] != "honest":
            model = f"{row['classifier']} {row['attack']}"
        if row["recipe"] != "published":
            model += {"warm": ", warm start", "logarithm": ", G reads logarithms"}[row["recipe"]]
        pruned = f"{row.number('prune'):.0%} of the weights pruned" if row["prune"] else ""
        return ", ".join(filter(None, (" ".join(filter(None, (row["role"], model, row["width"]))), pruned)))

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The notes of one row."""
        cells = measured[row]
        if row.table == "fig4":
            distances = [abs(100 * (cell["honesty"] + cell["curiosity"] - 1.5)) for cell in cells]
            return [f"{max(distances):.2f}" if distances and row["attack"] == "convex" else ""]
        if row.table == "detection":
            return _separation(row, measured)
        majorities = [
            f"{100 * cells[0][name]:.2f}" if cells else "" for name in ("majority_target", "majority")
        ]
        if row.table == "6":
            areas = [cell["auc"] for cell in cells if "auc" in cell]
            return [*majorities, f"{np.mean(areas):.3f}" if areas else ""]
        if row.table == "fig9":
            return majorities
        nets, panel = (self._read_again(row, role, measured) for role in (REFIT, PANEL))
        return [
            *majorities,
            _over_seeds(nets, "curiosity"),
            _over_seeds(panel, "curiosity"),
            _over_seeds(panel, "auc"),
        ]

    def _read_again(self, row: PaperRow, role: str, measured: Measured) -> Sequence[Cell]:
        """The cells of another attack on the model's releases, where it was measured as often as the row.
        They stand beside the row: the better of both must not be chosen by test figures."""
        cells = [cell for each in self.beside(row) if each["role"] == role for cell in measured[each]]
        return cells if len(cells) == len(measured[row]) else ()

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """The pictures of the frontiers."""
        return frontiers(measured) if table == "frontier" else []

    def words(self) -> Mapping[str, Any]:
        """What pictures and training have other than the paper's."""
        settings, smaller = self.settings, ""
        if settings.size is not None or settings.width != 1.0:
            size = settings.size or PAPER_SIZE
            smaller = (
                f"pictures of {size}×{size} pixels, the layers of F {settings.width:g} times as wide as the "
                f"paper's, whose pictures have {PAPER_SIZE}×{PAPER_SIZE}"
            )
        return {"smaller": smaller, "in_bf16": ", in bfloat16" if settings.bf16 else ""}

    def differences(self, measured: Measured) -> list[str]:
        """Data and epochs, with the tables that were measured on them; and what the sheet has."""
        sentences = []
        for name, images in PAPER_IMAGES.items():
            rows = [row for row, cells in measured.items() if row["data"] == name and cells]
            if not rows:
                continue
            titles = (self.sheet.tables[row.table].title for row in rows)
            tables = ", ".join(dict.fromkeys(title.partition(":")[0] for title in titles))
            patience = getattr(self.settings, f"{name}_patience")
            sentences.append(
                f"{name}: {getattr(self.settings, name)} in {tables}; the paper's images: {images}. "
                f"{self._epochs(rows[0])} epochs"
                + (f" at most, until none of {patience} was better" if patience else "")
                + f"; the paper's: {EPOCHS}"
            )
        return [*sentences, *super().differences(measured)]


def _over_seeds(cells: Sequence[Cell], figure: str) -> str:
    """Mean and deviation in percent; empty where a cell lacks the figure."""
    values = [100 * cell[figure] for cell in cells if figure in cell]
    return PaperColumn(None, values).cells()[1] if values and len(values) == len(cells) else ""


def _separation(row: PaperRow, measured: Measured) -> list[str]:
    """Separation of this kind of model, by mean and median entropy, from the honest ones of either kind."""
    honest: dict[float, Sequence[Cell]] = {
        each.number("beta_x"): cells
        for each, cells in measured.items()
        if each.table == "detection" and each["classifier"] == "honest"
    }
    cells, beta_x = measured[row], row.number("beta_x")
    texts = [""] * 4
    if cells and honest.get(0.0) and not (row["classifier"] == "honest" and not beta_x):
        area = _area(honest[0.0], cells, "entropy")
        texts[:2] = [_area_text(area, cells, honest[0.0]), f"{max(area, 1.0 - area):.3f}"]
    if cells and beta_x == ALIKE and row["classifier"] != "honest" and honest.get(ALIKE):
        alike = honest[ALIKE]
        scores = ("entropy", "entropy_median")
        texts[2:] = [_area_text(_area(alike, cells, score), cells, alike) for score in scores]
    return texts


def _area(honest: Sequence[Cell], curious: Sequence[Cell], score: str) -> float:
    scores = np.array([cell[score] for cell in (*honest, *curious)])
    return auc(scores, np.repeat([False, True], [len(honest), len(curious)]))


def _area_text(area: float, curious: Sequence[Cell], honest: Sequence[Cell]) -> str:
    low, high = auc_interval(area, len(curious), len(honest))
    return f"{area:.3f} [{low:.3f}, {high:.3f}]"
