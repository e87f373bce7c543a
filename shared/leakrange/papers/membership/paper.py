"""LiRA and RMIA as trials of a range: by shadow models, by their settings, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from leakrange.papers import papers
from leakrange.papers.cells import Cell, mean_text
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.pictures import against
from leakrange.papers.sheet import read_sheet
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Picture

__all__ = ["MembershipInference", "MembershipInferenceSettings"]

NAMES = MappingProxyType({"loss-threshold": "loss threshold", "lira": "LiRA", "rmia": "RMIA"})
TARGETS = MappingProxyType({"cifar10": "object", "fashion_mnist": "item"})

Count = Annotated[int, Field(ge=1)]


class MembershipInferenceSettings(PaperSettings):
    """The data sets and their labels, the pool of candidates, and the net and schedule of all models.

    The attack asks about ``pool`` records, half of which are each model's members. RMIA compares them with
    ``population`` others. A set with labels of another name than "object" or "item" needs a ``target``.
    """

    cifar10: str = "cifar10"
    fashion_mnist: str = "fashion_mnist"
    target: str = ""
    size: Annotated[int, Field(ge=16, le=512)] = 16
    pool: Annotated[int, Field(ge=100, le=50_000)] = 20_000
    population: Annotated[int, Field(ge=20, le=20_000)] = 2000
    net: str = "strided-conv"
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0
    epochs: Count = 15
    batch: Annotated[int, Field(ge=8)] = 250
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01
    augment: bool = False
    bf16: bool = False


@papers.register("membership")
class MembershipInference(Paper):
    """Carlini et al., S&P 2022, and Zarifzadeh et al., ICML 2024."""

    sheet = read_sheet(__package__)
    Settings = MembershipInferenceSettings
    settings: MembershipInferenceSettings

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        """The row's data set with its labels, the number of models that the attack's owner trains, and the
        settings that differ from the usual."""
        settings, shadows = self.settings, int(row.number("shadows"))
        setting = [f"{row['variance']} variance"] if row["variance"] else []
        setting += [f"{sign} = {row[name]}" for name, sign in (("gamma", "γ"), ("a", "a")) if row[name]]
        return {
            "set": getattr(settings, _set(row)),
            "set_name": _set(row),
            "label": settings.target or TARGETS[_set(row)],
            "net_width": None if settings.width == 1.0 else settings.width,
            "attacker": _attacker(row),
            "models": f"{shadows}, {shadows // 2}" if shadows else "none",
            "unusual": ", ".join(setting),
        }

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The target's accuracy in one row."""
        return [mean_text(measured[row], "honesty", decimals=1, scale=100.0)]

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """AUC against the number of shadows."""
        lines: dict[str, dict[float, Sequence[Cell]]] = {}
        for row, cells in measured.items():
            if cells and row["shadows"] and not table.endswith("-settings"):
                lines.setdefault(_attacker(row), {})[row.number("shadows")] = cells
        return [against(f"AUC, {_set(next(iter(measured)))}", "shadow models", lines)] if lines else []

    def words(self) -> Mapping[str, Any]:
        """The number of members, and whether pictures are augmented."""
        augmented = "augmented" if self.settings.augment else "not augmented"
        return {"members": self.settings.pool // 2, "augmented": augmented}


def _set(row: PaperRow) -> str:
    """The setting that names a row's data set."""
    return row.table.removesuffix("-settings")


def _attacker(row: PaperRow) -> str:
    return f"{NAMES[row['attack']]} {row['mode']}".strip()
