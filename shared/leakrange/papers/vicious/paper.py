"""Vicious Classifiers as trials of a range: Tables 1, 3, 4 and 6, and Figures 3, 4 and 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from leakrange.attacks.kinds.audit import AuditParameters
from leakrange.data.sets.celeba import CELEBA_NAMES
from leakrange.jobs.audit import ViciousnessSettings
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.sheet import read_sheet
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.gallery import StripGallery
from leakrange.report.charts.picture import Picture
from leakrange.report.views.further_training import similarities
from leakrange.report.views.reconstructions import strips_of
from leakrange.scenario.results import TrialResult

__all__ = ["ViciousClassifiers", "ViciousSettings"]

EPOCHS, BATCH = 50, 250
ATTRIBUTES: Mapping[str, Sequence[int]] = MappingProxyType(
    {
        "1": (31,),
        "2": (8, 31),
        "3": (8, 20, 31),
        "4": (2, 8, 20, 31),
        "5": (2, 8, 19, 20, 31),
        "6": (2, 8, 18, 19, 20, 31),
        "8": (2, 8, 18, 20, 31, 33, 36, 39),
        "10": (2, 8, 11, 18, 19, 20, 31, 33, 36, 39),
        "15": (1, 2, 6, 7, 8, 18, 19, 20, 21, 25, 27, 31, 33, 36, 39),
        "20": (1, 2, 3, 6, 7, 8, 11, 18, 19, 20, 21, 24, 25, 27, 31, 32, 33, 34, 36, 39),
        "30": (
            *(0, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 15, 18, 19, 20, 21, 23, 24, 25),
            *(27, 28, 31, 32, 33, 34, 36, 37, 38, 39),
        ),
        "40": tuple(range(40)),
    }
)
"""CelebA's attributes in each row of Table 6, by their codes in Table 5."""
TARGETS = MappingProxyType(
    {"mnist": "digit", "fmnist": "item", "cifar10": "object", "cifar100": "object", "faces": "hair"}
)
SHOWN = ("mnist", "fmnist", "faces")
"""Sets whose pictures may stand on a page: digits, clothes and drawn faces, no photograph."""

Epochs = Annotated[int, Field(ge=1, le=1000)]


class ViciousSettings(PaperSettings):
    """The data sets that play the paper's, the nets, and the length of training on each.

    ``tiny`` plays TinyImageNet. ``net`` names the classifier and the decoder, and ``width`` scales both (1.0:
    the paper's, k = 5). ``auxiliary`` is the share of the training images that is set aside for an attacker;
    the paper sets none aside. With ``augment`` half of each batch are augmented copies, as in the paper. With
    ``decay`` the learning rate goes down as half a cosine; the paper's is constant.
    """

    mnist: str = "mnist"
    fmnist: str = "fashion_mnist"
    cifar10: str = "cifar10"
    cifar100: str = "hub-cifar100"
    tiny: str = "hub-cifar100"
    celeba: str = "celeba_sub"
    faces: str = "synthfaces"
    net: str = "wide-resnet"
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    augment: bool = True
    decay: bool = False
    bf16: bool = False
    auxiliary: Annotated[float, Field(ge=0.0, lt=0.8)] = 0.0
    mnist_epochs: Epochs = EPOCHS
    epochs: Epochs = EPOCHS
    celeba_epochs: Epochs = EPOCHS
    limit: Annotated[int, Field(ge=1)] | None = None


@papers.register("vicious")
class ViciousClassifiers(Paper):
    """Malekzadeh and Gündüz, BMVC 2024 workshop."""

    sheet = read_sheet(__package__)
    Settings = ViciousSettings
    settings: ViciousSettings

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        """What is trained on the row's data set, and how."""
        settings = self.settings
        return {
            "set": self._set(row),
            "target": self._target(row),
            "set_epochs": self._epochs(row),
            "batch": BATCH // 2 if settings.augment else BATCH,
            "falling": "cosine" if settings.decay else None,
            "net_width": None if settings.width == 1.0 else settings.width,
            "labelled_from": None if settings.auxiliary else "test",
            "labelled": "training images set aside" if settings.auxiliary else "test images, not compared",
        }

    def _set(self, row: PaperRow) -> str:
        return str(getattr(self.settings, "tiny" if row["data"] == "tinyimagenet" else row["data"]))

    def _target(self, row: PaperRow) -> str | list[str]:
        if row["data"] != "celeba":
            return TARGETS["cifar100" if row["data"] == "tinyimagenet" else row["data"]]
        names = [CELEBA_NAMES[code].lower().replace("_", "-") for code in ATTRIBUTES[row["attributes"]]]
        return names if len(names) > 1 else names[0]

    def _epochs(self, row: PaperRow) -> int:
        by_set = {"mnist": self.settings.mnist_epochs, "celeba": self.settings.celeba_epochs}
        return by_set.get(row["data"], self.settings.epochs)

    def kept(self, trial: PaperTrial, result: TrialResult) -> Cell:
        """Metrics, and pictures that may be shown."""
        cell = super().kept(trial, result)
        if trial.data["name"] not in {getattr(self.settings, name) for name in SHOWN}:
            cell.pop("reconstructions", None)
        return cell

    def words(self) -> Mapping[str, Any]:
        """How models are trained, and the settings of an audit, which the paper does not state."""
        settings, plan, audit = self.settings, AuditParameters(), ViciousnessSettings()
        return {
            "decayed": ", down to 0 as half a cosine" if settings.decay else "",
            "augmented": "half of them augmented copies" if settings.augment else "nothing augmented",
            "threshold": audit.threshold,
            "audit_optimiser": audit.optimiser.name.capitalize(),
            "audit_lr": audit.lr,
            "audit_rounds": audit.rounds,
            "audit_batch": audit.batch,
            "audit_labelled": plan.labelled,
            "audit_test": plan.test,
        }

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The notes of one row, under its first seed."""
        if row.table == "fig6":
            return _suspicion(measured[row])
        if not measured[row] or "risk" not in measured[row][0]:
            return [""] * 4
        cell = measured[row][0]
        return [
            f"{cell['risk_median']:.3f}",
            f"{cell['risk_rank']:.0f}, {cell['risk_tolerance']:.1e}",
            f"{cell['risk_conditioned']:.3f}, {cell['risk_conditioned_median']:.3f}",
            f"{cell['risk_conditioned_rank']:.0f}",
        ]

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """The first users' pictures above their reconstructions; for each data set, the similarity of audited
        models along the rounds."""
        if table == "fig6":
            return _similarities(measured)
        if table != "fig3":
            return []
        return [
            StripGallery(
                title=", ".join([row["data"], row["output"], f"β^R/β^C {_ratio(row)}"]),
                label=f"Inputs of users ({row['data']}) above their reconstructions",
                note="seed 0",
                strips=strips_of(cells[0]["reconstructions"], "inputs of users", "reconstructions"),
            )
            for row, cells in measured.items()
            if cells and "reconstructions" in cells[0]
        ]


def _suspicion(cells: Sequence[Cell]) -> list[str]:
    """v of the first seed with its interval, and the number of seeds under which the audit suspects the
    model."""
    if not cells:
        return [""] * 2
    v, low, high = (cells[0][f"viciousness{end}"] for end in ("", "_low", "_high"))
    suspected = sum(cell["suspected"] for cell in cells)
    return [f"{v:.4f} ({low:.4f} to {high:.4f})", f"{suspected:.0f} of {len(cells)}"]


def _similarities(measured: Measured) -> list[Picture]:
    """A picture for each data set, with a line for each ρ = β^R/β^C."""
    audited: dict[str, dict[str, list[Any]]] = {}
    for row, cells in measured.items():
        if held := [cell["further-training"] for cell in cells if "further-training" in cell]:
            audited.setdefault(f"{row['data']}, {row['output']}", {})[f"ρ = {_ratio(row)}"] = held
    return [similarities(title, lines) for title, lines in audited.items()]


def _ratio(row: PaperRow) -> str:
    return f"{row.number('beta_r'):g}/{row.number('beta_c'):g}"
