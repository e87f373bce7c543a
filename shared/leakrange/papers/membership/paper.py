"""LiRA and RMIA as trials of a range: by shadow models, by their settings, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import Field

from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.membership.claims import CLAIMS
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.pictures import against
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.drawing import Picture

__all__ = ["MembershipInference", "MembershipInferenceSettings"]

NAMES = MappingProxyType({"loss-threshold": "loss threshold", "lira": "LiRA", "rmia": "RMIA"})
TARGETS = MappingProxyType({"cifar10": "object", "fashion_mnist": "item"})
NUMBERS = ("gamma", "a")
VALIDATION = 0.02
"""Validation share of the training samples, small since no epoch is chosen on them."""

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

    name = "membership"
    title = "Membership inference: LiRA and RMIA"
    about = (
        "Which records was a model trained on? AUC, the share of members found where 1 % or 0.1 % of the "
        "others are accused, and balanced accuracy, all in percent. The threshold of the last is chosen on "
        "half of the records. Every attacker asks once about each record, over HTTP. Shadow models come in "
        "pairs that share the pool out: half of them were trained on a given record. Online attacks use all "
        "of them, offline ones those without the record. Figures are means and deviations over targets, each "
        "of which draws its own members from one pool; all share the shadows. The paper’s figures are those "
        "of Carlini et al. (2022), Tables I (loss threshold) and II (one query); they place online above "
        "offline, and the loss threshold last at low rates. Zarifzadeh et al. (2024) place RMIA above LiRA, "
        "most where models are few."
    )
    figures = ("auc", "tpr_at_001", "tpr_at_0001", "balanced_accuracy")
    tables: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "cifar10": "CIFAR-10, by the number of shadow models",
            "fashion_mnist": "Fashion-MNIST, by the number of shadow models",
            "cifar10-settings": "CIFAR-10, by the settings of attacks",
            "fashion_mnist-settings": "Fashion-MNIST, by the settings of attacks",
        }
    )
    labels = ("attack", "shadows: all, without a record", "setting")
    claims = CLAIMS
    naming = ("attack", "mode", "shadows")
    seeds = 3
    quick = ("cifar10:shadows=|2|4", "cifar10-settings:shadows=2,gamma=4|")
    quick_settings: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"cifar10": "digits", "target": "digit", "pool": 800, "population": 100, "epochs": 8, "batch": 20}
    )
    Settings = MembershipInferenceSettings
    settings: MembershipInferenceSettings

    def trial(self, row: PaperRow, seed: int) -> PaperTrial:
        """An honest provider that learns by heart, and an attacker who asks about its pool."""
        settings = self.settings
        return PaperTrial(
            seed=seed,
            data={
                "name": getattr(settings, _set(row)),
                "size": settings.size,
                "validation": VALIDATION,
                "subset": {"pool": settings.pool},
            },
            provider={
                "behaviour": "honest",
                "target": settings.target or TARGETS[_set(row)],
                "release": "logits",
                "net": {"name": settings.net, **({} if settings.width == 1.0 else {"width": settings.width})},
                "schedule": {
                    "epochs": settings.epochs,
                    "batch": settings.batch,
                    "lr": settings.lr,
                    "select": "last",
                    "decay": "cosine",
                    **({"augment": True} if settings.augment else {}),
                    **({"bf16": True} if settings.bf16 else {}),
                },
            },
            attack=self._attack(row),
        )

    def _attack(self, row: PaperRow) -> dict[str, Any]:
        attack: dict[str, Any] = {"kind": row["attack"]}
        if not row["shadows"]:
            return attack
        attack["shadows"] = int(row["shadows"])
        if row["mode"] == "online":
            attack["mode"] = "online"
        if row["attack"] == "rmia":
            attack["population"] = self.settings.population
        if row["variance"]:
            attack["variance"] = row["variance"]
        return attack | {name: row.number(name) for name in NUMBERS if row[name]}

    def value(self, row: PaperRow, figure: str, cell: Cell) -> float | None:  # noqa: ARG002
        """Every figure in percent, the AUC too."""
        return 100.0 * cell[figure] if figure in cell else None

    def label(self, row: PaperRow) -> list[str]:
        """The attack, the number of models that its owner trains, and the settings that differ from the
        usual."""
        shadows = int(row.number("shadows"))
        setting = [f"{row['variance']} variance"] if row["variance"] else []
        setting += [f"{sign} = {row[name]}" for name, sign in (("gamma", "γ"), ("a", "a")) if row[name]]
        return [
            f"{NAMES[row['attack']]} {row['mode']}".strip(),
            f"{shadows}, {shadows // 2}" if shadows else "none",
            ", ".join(setting),
        ]

    def shown(self, table: str, rows: Sequence[PaperRow]) -> list[str]:  # noqa: ARG002
        """All figures, also where the papers print none."""
        return list(self.figures)

    def notes(self, table: str) -> tuple[str, ...]:  # noqa: ARG002
        """The title of the target's accuracy."""
        return ("accuracy of the target, test images",)

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The target's accuracy in one row."""
        accuracies = [100.0 * cell["honesty"] for cell in measured[row]]
        return [f"{sum(accuracies) / len(accuracies):.1f}" if accuracies else "–"]

    def remark(self, table: str) -> str:
        """The usual settings, and the origin of the papers' figures."""
        if table.endswith("-settings"):
            return (
                "In the tables above γ is 2, a is 0.3, and the variance is one for all records below 64 "
                "shadows, and one for each record from there on."
            )
        if table == "cifar10":
            return (
                "The paper’s figures are of WideResNet-28-2 with 256 shadows and 25,000 members, trained "
                "with augmentation. Those of Zarifzadeh et al. are not copied here."
            )
        return "The papers print nothing of this set."

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """AUC against the number of shadows."""
        lines: dict[str, dict[float, Sequence[Cell]]] = {}
        for row, cells in measured.items():
            if cells and row["shadows"] and not table.endswith("-settings"):
                lines.setdefault(self.label(row)[0], {})[row.number("shadows")] = cells
        return [against(f"AUC, {_set(next(iter(measured)))}", "shadow models", lines)] if lines else []

    def differences(self, measured: Measured) -> list[str]:
        """Nets, members, epochs, queries and reference models."""
        settings = self.settings
        sets = dict.fromkeys(_set(row) for row, cells in measured.items() if cells)
        return [
            *(f"{name}: {getattr(settings, name)}, {settings.size}×{settings.size} pixels" for name in sets),
            f"members of each model: {settings.pool // 2:,} of a pool of {settings.pool:,}; the papers’: "
            "25,000 of 50,000",
            f"all models: {settings.net} of width {settings.width:g}, {settings.epochs} epochs in batches of "
            f"{settings.batch}, Adam {settings.lr:g} down to 0 as half a cosine, the last epoch kept, "
            f"{'' if settings.augment else 'not '}augmented; the papers’: WideResNet-28-2, 100 epochs, "
            "augmented",
            "queries: each record as it is; the papers’ best figures: shifted and mirrored copies, too",
            "shadows: 64 at most; the papers’: 256 (LiRA), 254 (RMIA)",
            f"RMIA: {settings.population:,} population records that no model was trained on, a softmax at "
            "temperature 1, the mean over models; its authors’ code: all non-members, a Taylor softmax with "
            "a soft margin at temperature 2, a trimmed mean",
        ]


def _set(row: PaperRow) -> str:
    """The setting that names a row's data set."""
    return row.table.removesuffix("-settings")
