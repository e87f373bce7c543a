"""FACELEAKS as trials of a range: Tables 1 to 3, Figures 3 to 8, and Sections 3, 5, 6 and 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from leakrange.metrics import described
from leakrange.papers import papers
from leakrange.papers.cells import Cell, mean_text
from leakrange.papers.faceleaks.gap import (
    gap_note,
    gap_picture,
    labels_note,
    labels_picture,
)
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.pictures import against, rocs
from leakrange.papers.sheet import read_sheet
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Picture
from leakrange.report.views.distribution import distribution

__all__ = ["FaceLeaks", "FaceLeaksSettings", "taught"]

PICTURED = (
    ("first-cut", ("distance", "logistic"), "person"),
    ("class-based", ("mean", "S"), ""),
    ("class-based", ("logistic", "qda"), "person"),
)
"""For each service one attack without and one with auxiliary data, beside single answers."""
FEWEST = MappingProxyType({"tpr_at_0001": 1000, "tpr_at_001": 100})
"""Fewest others for a true positive rate at 0.1 % and 1 % false positives. They are people, since answers
about one person are no independent witnesses."""
WAYS = ("plain", "varied", "margin")
"""How teachers are trained, besides that of most tables."""

Count = Annotated[int, Field(ge=1)]


class FaceLeaksSettings(PaperSettings):
    """The people, the teacher, and the victims.

    ``images`` of each person are queried. The attacker knows the membership of ``validated`` members and as
    many others; ``tested`` of either side are judged. ``pairs`` of each person are queried at a verification.
    ``public`` people are the services' users; a recognition learns ``students`` from ``enrolled`` images of
    each. An averaging attacker makes each query ``repeats`` times. The ``attribute`` is inferred of people
    whom the teacher does not know.
    """

    data: str = "people"
    size: Annotated[int, Field(ge=16, le=512)] | None = None
    width: Annotated[float, Field(gt=0.0, le=2.0)] = 0.5
    epochs: Count = 4
    batch: Count = 64
    images: Count = 15
    validated: Count = 40
    tested: Count = 60
    pairs: Count = 40
    public: Count = 250
    students: Count = 20
    enrolled: Count = 10
    repeats: Annotated[int, Field(ge=2)] = 8
    attribute: str = "gender"


@papers.register("faceleaks")
class FaceLeaks(Paper):
    """Membership and attributes of people, through features, verification and recognition services."""

    sheet = read_sheet(__package__)
    Settings = FaceLeaksSettings
    settings: FaceLeaksSettings

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        """The numbers of people and pictures, the teacher, and the defence."""
        settings, number = self.settings, int(row["number"] or 0)
        way, taught_epochs = taught(row["teacher"])
        defence, _, amount = row["defence"].partition(" ")
        service = ", ".join(filter(None, (row["service"], row["features"])))
        return {
            "asked": settings.validated + settings.tested,
            "pairs_asked": number or settings.pairs,
            "images_named": number or settings.images // 2,
            "way": way,
            "taught_epochs": taught_epochs,
            "defence_name": defence,
            "defence_amount": amount,
            "sticky": defence == "sticky",
            "api": service + (f" of {row['students']} people" if row["students"] else ""),
            "defended": row["defence"] or "none",
            "attacker": self._attacker(row),
        }

    def _attacker(self, row: PaperRow) -> str:
        texts = dict(_TEXTS) | ({"number": "{} images of each"} if row.table == "labels" else {})
        parts = [text.format(row[name]) for name, text in texts.items() if row[name] and row.table != "3"]
        if row.table == "gap" and not row["teacher"]:
            parts.append(_TEXTS["teacher"].format(f"plain {self.settings.epochs}"))
        return ", ".join(parts)

    def words(self) -> Mapping[str, Any]:
        """The titles of the true positive rates that the number of people allows to measure, and why there
        are no others."""
        words = {}
        for name, fewest in FEWEST.items():
            title, enough = described(name).title, bool(self._rates(name))
            words[name] = title if enough else ""
            reason = f"{title}: not measurable with {self.settings.tested} others, takes {fewest:,}"
            words[f"without_{name}"] = "" if enough else reason
        return words

    def _rates(self, *names: str) -> list[str]:
        """Those rates that the number of people allows to measure, whatever a cell holds."""
        return [name for name in names if self.settings.tested >= FEWEST[name]]

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The notes of one row."""
        cells = measured[row]
        if row.table == "gap":
            return gap_note(row, measured)
        if row.table == "5":
            low, high = (cells[0].get(f"auc_{end}") if cells else None for end in ("low", "high"))
            interval = "–" if low is None else f"[{low:.3f}, {high:.3f}]"
            names = ("unsigned_auc", *self._rates("tpr_at_0001", "tpr_at_001"))
            return [interval, *(mean_text(cells, name) for name in names)]
        if row.table == "7":
            names = ("unsigned_auc", *self._rates("tpr_at_001"), "honesty")
            return [mean_text(cells, name) for name in names]
        if row.table == "labels":
            return labels_note(cells)
        return []

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """Figures 3 to 8, as far as their rows are measured."""
        with_cells = {row: cells for row, cells in measured.items() if cells}
        if table == "5":
            return [*_rocs(with_cells), *_distributions(with_cells)]
        if table in ("gap", "labels"):
            drawn = (
                gap_picture(self.sheet.tables[table].title, with_cells)
                if table == "gap"
                else labels_picture(with_cells)
            )
            return [] if drawn is None else [drawn]
        lines: dict[str, dict[float, Sequence[Cell]]] = {}
        for row, cells in with_cells.items():
            if not row["among"]:
                number = row.number("students" if table == "8b" else "number")
                lines.setdefault(row["service"], {})[number] = cells
        return (
            [against(self.sheet.tables[table].title, _NUMBERS[table], lines)]
            if lines and table in _NUMBERS
            else []
        )


def taught(teacher: str) -> tuple[str, int | None]:
    """The way in which a teacher is trained, and for how many epochs; empty and None for that of most tables.
    Raises `ValueError` for one that is trained in none of the `WAYS`."""
    if not teacher:
        return "", None
    way, _, epochs = teacher.partition(" ")
    if way not in WAYS:
        raise ValueError(f"no teacher is trained {way!r}; there are: {', '.join(WAYS)}")
    return way, int(epochs)


_TEXTS = MappingProxyType(
    {"attack": "{}", "method": "{}", "folds_by": "folds by {}", "logarithm": "of logarithms"}
    | {"knowledge": "{}", "revealed": "the {} highest", "labels": "{} labels", "sure": "the surest {}"}
    | {"trim": "trimmed by {}", "number": "{}"}
    | {"among": "pictures of {}", "teacher": "teacher {}"}
)
_NUMBERS = MappingProxyType(
    {"budget": "pairs of each person", "6": "auxiliary records", "8a": "reference pictures"}
    | {"8b": "classes of the student"}
)


def _rocs(shown: Measured) -> list[Picture]:
    drawn = []
    for service in dict.fromkeys(row["service"] for row in shown):
        curves = {
            f"{row['attack']}: {row['method']}{', auxiliary data' if folds and place else ''}": cells
            for place, (attack, methods, folds) in enumerate(PICTURED)
            for row, cells in shown.items()
            if row["service"] == service and row["features"] != "raw" and not row["logarithm"]
            if row["attack"] == attack and row["method"] in methods
            if row["folds_by"] == folds or row["method"] == "distance"
            if all("roc" in cell for cell in cells)
        }
        drawn += [rocs(f"ROC curves, {service}", curves)] if curves else []
    return drawn


def _distributions(shown: Measured) -> list[Picture]:
    return [
        distribution(f"Distribution, {row['service']} {row['features']}".strip(), **cells[0]["distribution"])
        for row, cells in shown.items()
        if row["method"] in ("S", "mean") and not row["logarithm"] and "distribution" in cells[0]
    ]
