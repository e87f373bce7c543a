"""Honest-but-Curious Nets as trials of a range: Tables 1 to 9, Figures 4 and 9, and detection by entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from leakrange.metrics import auc, auc_interval
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.hbc.claims import CLAIMS
from leakrange.papers.hbc.frontier import frontiers
from leakrange.papers.hbc.rows import PANEL, REFIT, again, extended
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.drawing import Picture
from leakrange.report.document import PaperColumn

__all__ = ["HonestButCurious", "HonestButCuriousSettings"]

EPOCHS, REPETITIONS = 50, 5
FULL_WIDTH = 128
PAPER_SIZE = 64
STUDENT_WIDTH, STUDENT_BATCH = 0.5, 50
"""Width and batch of students. The user has a fourth of the provider's images: larger batches would hardly
make a step."""
STUDENT_EPOCHS = 2
"""A student's epochs for each of the teacher's, which makes about as many steps."""
USERS_SHARE = 0.2
"""The user's share of the training images in Table 6, without labels (Section 5.8)."""
OTHER_HAIR = MappingProxyType(
    {"celeba_sub-hair": "celeba_sub-other-hair", "hub-celeba-hair": "hub-celeba-other-hair"}
)
"""Sets with more of a user's unlabelled images: those that the provider's set leaves out."""
EVERYTHING = 100_000
"""Number of training images with the hidden attribute: all of them."""
POPULATION = 10
"""Fewest models of each kind for detection: fewer tell nothing of an AUC."""
POINTS = 40_000
"""Number of Figure 4's points. The share of its test points with y = s decides δ^y + δ^s of a linear
boundary."""
PAPER_IMAGES = {"celeba": "more than 115,000 (the hair filter applied)", "utkface": "23,705"}
ALIKE = 0.4
"""The β^x of models that were trained to be sure of their outputs."""

READ_AGAIN = ("curiosity of five nets on its releases", "of the panel", "AUC of the panel")

WARM_SHARE = 1 / 3
"""Share of the epochs that is a warm start."""
WARM_LR, WARM_STEPS = 0.01, 10
"""G's learning rate beside a warm start, and its steps for each one of F where there are more than two
answers."""

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

    name = "hbc"
    title = "Honest-but-Curious Nets"
    about = (
        "Honesty, curiosity and majority classes in percent of the test images, entropies of soft outputs in "
        f"bits. The paper's figures are means and deviations of {REPETITIONS} runs of {EPOCHS} epochs, ours "
        "of as many seeds as each row tells. Curiosity of an honest model is what nets learn from its "
        "outputs for the training images (overlearning); that of a curious one is what its own decoder reads."
    )
    figures = ("honesty", "curiosity", "entropy")
    tables: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "fig4": "Sections 3.1, 3.2 and Figure 4: mixtures and the logistic frontier, on quadrants",
            "1": "Table 1: Smiling (target) vs. four attributes, CelebA",
            "2": "Table 2: HairColor (target) vs. Male, Smiling, Attractive, CelebA",
            "3": "Table 3: Age (target) vs. Race (sensitive), UTKFace",
            "4": "Table 4: Race (target) vs. Gender (sensitive), UTKFace",
            "5": "Table 5: entropy minimisation, Age vs. Race, Y = S = 3",
            "6": "Table 6: teacher and student, Smiling vs. four attributes",
            "7": "Table 7: capacity of the classifier, Age vs. Race, Y = S = 3",
            "8": "Table 8: Race (target) vs. Age (sensitive), UTKFace",
            "9": "Table 9: Gender (target) vs. Race (sensitive), UTKFace",
            "fig9": "Figure 9: pruning Table 5's models, before they are used",
            "frontier": "Frontiers of soft outputs of two classes: the published recipe, and a warm start",
            "detection": "Detection: entropy as a ground for suspicion, digits, y = parity, s = slant",
        }
    )
    labels = ("y", "s", "model", "β^y, β^s, β^x")
    seeds = REPETITIONS
    quick = (
        "fig4",
        "1:s=male,beta_y=1|0.7,classifier=honest|raw",
        "4:Y=2,classifier=honest|raw",
        "5:classifier=honest|raw,beta_x=0",
    )
    quick_settings: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"celeba_epochs": 3, "utkface_epochs": 3, "size": 32, "width": 0.25}
    )
    claims, naming = CLAIMS, ("y", "s", "beta_y")
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

    def trial(self, row: PaperRow, seed: int) -> PaperTrial:
        """A provider, the users' changes to its model, and the attacker who reads the outputs."""
        return PaperTrial(
            seed=seed,
            data=self._data(row, seed),
            provider=self._provider(row),
            attack=self._attack(row),
            defence=[{"prune": {"amount": row.number("prune")}}] if row["prune"] else [],
        )

    def _data(self, row: PaperRow, seed: int) -> dict[str, Any]:
        if row["data"] == "quadrants":  # every seed draws points of its own
            return {"name": "quadrants", "count": POINTS, "auxiliary": 0.0, "seed": seed}
        if row["data"] == "digits":
            return {"name": "digits", "size": 16, "auxiliary": 0.0}
        options = {"size": self.settings.size, "limit": self.settings.limit}
        return {
            "name": getattr(self.settings, row["data"]),
            "auxiliary": USERS_SHARE if row.table == "6" else 0.0,
            **{name: value for name, value in options.items() if value is not None},
        }

    def _provider(self, row: PaperRow) -> dict[str, Any]:
        provider: dict[str, Any] = {
            "target": row["y"],
            "release": row["output"],
            "schedule": self._schedule(row),
        }
        if row["data"] == "quadrants":
            provider["net"] = {"name": "linear"}
        elif row["data"] == "digits":
            provider["net"] = {"width": 0.5}
        elif (width := self.settings.width * int(row["width"].partition("-")[0] or FULL_WIDTH)) != FULL_WIDTH:
            provider["net"] = {"width": width / FULL_WIDTH}
        beta_x = row.number("beta_x")
        if row["classifier"] == "honest":
            return {"behaviour": "honest", **provider, **({"beta": {"x": beta_x}} if beta_x else {})}
        # as 1 − β^s is computed, not as it is printed: so that both add up to 1
        beta_s = row.number("beta_s")
        beta = {"y": 1.0 - beta_s if row["attack"] == "convex" else row.number("beta_y"), "s": beta_s}
        provider |= {"behaviour": "curious", "method": row["attack"], "sensitive": row["s"], "beta": beta}
        if row["attack"] == "mixture":
            provider["mixture"] = row["classifier"]
        if row["attack"] == "parameterized":
            beta["x"] = beta_x
            provider["passes"] = self.settings.passes
            if row["recipe"] == "logarithm":
                provider["logarithm"] = True
            elif row["recipe"] == "warm":
                provider["decoder"] = {
                    "lr": WARM_LR,
                    "dropout": 0.0,
                    "steps": WARM_STEPS if row.number("Y") > 2 else 1,
                }
                provider["warm_start"] = {"epochs": max(1, round(WARM_SHARE * self._epochs(row)))}
        return provider

    def _schedule(self, row: PaperRow) -> dict[str, Any]:
        if row["data"] == "quadrants":
            return {"epochs": 10, "batch": 400, "lr": 0.05, "channels_last": False}
        if row["data"] == "digits":
            return {"epochs": 20, "batch": 32, "lr": 0.003}
        options = {
            "bf16": self.settings.bf16 or None,
            "patience": getattr(self.settings, f"{row['data']}_patience"),
        }
        return {
            "epochs": self._epochs(row),
            **{name: value for name, value in options.items() if value is not None},
        }

    def _epochs(self, row: PaperRow) -> int:
        return int(getattr(self.settings, f"{row['data']}_epochs"))

    def _attack(self, row: PaperRow) -> dict[str, Any]:
        if row["role"] == "student":
            return {
                "kind": "distillation",
                "width": STUDENT_WIDTH,
                "epochs": STUDENT_EPOCHS * self._epochs(row),
                "batch": STUDENT_BATCH,
                "lr": 0.001,
                **({"more": more} if (more := OTHER_HAIR.get(self.settings.celeba)) else {}),
            }
        if row["classifier"] == "honest" or row["role"] in (REFIT, PANEL):
            return {
                # the paper's nets alone, or all learners, which may find more
                "kind": "attribute-inference" if row["role"] == PANEL else "attribute-nets",
                "sensitive": row["s"],
                "records": "train",
                "auxiliary": EVERYTHING,
                "knowledge": "aware" if row["prune"] else "unaware",
            }
        return {"kind": "curious-decoder"}

    def most(self, row: PaperRow, seeds: int) -> int:
        """The number of seeds: a whole population for detection."""
        return max(POPULATION, seeds) if row.table == "detection" else seeds

    def label(self, row: PaperRow) -> list[str]:
        """Attributes, the model, and its weights."""
        model = "honest, overlearning on " + row["output"]
        if row["classifier"] != "honest":
            model = f"{row['classifier']} {row['attack']}"
        if row["recipe"] != "published":
            model += {"warm": ", warm start", "logarithm": ", G reads logarithms"}[row["recipe"]]
        pruned = f"{row.number('prune'):.0%} of the weights pruned" if row["prune"] else ""
        model = ", ".join(filter(None, (" ".join(filter(None, (row["role"], model, row["width"]))), pruned)))
        betas = ", ".join(f"{row.number(name):g}" for name in ("beta_y", "beta_s", "beta_x"))
        return [row["y"], row["s"], model, betas]

    def shown(self, table: str, rows: Sequence[PaperRow]) -> list[str]:  # noqa: ARG002
        """The figures that the table prints, and is about."""
        return list(self.figures) if table in ("5", "7", "fig9", "detection") else list(self.figures[:2])

    def notes(self, table: str) -> tuple[str, ...]:
        """Titles of the notes: majority classes, and for teachers and students also how well scores rank
        people, wherever a threshold cuts them; for Figure 4 the distance from the frontier, for detection
        areas under curves."""
        if table == "fig4":
            return ("furthest of any seed from δ^y = 1.5 − δ^s",)
        if table == "detection":
            return ("AUC against honest", "unsigned", "AUC against honest, β^x .4", "by the median")
        majorities = ("majority y", "majority s")
        if table == "6":
            return (*majorities, "AUC of s")
        if table == "fig9":
            return majorities
        return (*majorities, *READ_AGAIN)

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

    def remark(self, table: str) -> str:
        """Help for reading detection and frontiers."""
        if table == "frontier":
            return (
                "β^y from .7 to .3, and β^s the rest. With a warm start F learns by Eq. 3 for a third of the "
                f"epochs, then by Eq. 10; G learns at {WARM_LR:g} without dropout. Everything else is as in "
                "the published recipe."
            )
        if table != "detection":
            return ""
        return (
            "The suspicion score of a model is the mean entropy of its outputs in bits. The AUC is that of "
            "telling models of a kind from plain honest ones, with its 95 % interval; below .5 the kind is "
            "surer of its outputs than honest models are. Who takes a model with β^x for a plain honest one "
            "is led astray by that mean; what it tells of honest models with β^x, and what the median "
            "entropy does, stands beside it. "
            "Entropy is a ground for suspicion, not a proof, and its absence proves "
            "nothing. The paper prints no figures."
        )

    def differences(self, measured: Measured) -> list[str]:
        """Data, epochs, the attack's passes, and the students' settings."""
        settings, sentences = self.settings, []
        for name, images in PAPER_IMAGES.items():
            rows = [row for row, cells in measured.items() if row["data"] == name and cells]
            if rows:
                tables = ", ".join(dict.fromkeys(self.tables[row.table].partition(":")[0] for row in rows))
                patience = getattr(settings, f"{name}_patience")
                sentences.append(
                    f"{name}: {getattr(settings, name)} in {tables}; the paper's images: {images}. "
                    f"{self._epochs(rows[0])} epochs"
                    + (f" at most, until none of {patience} was better" if patience else "")
                    + f"; the paper's: {EPOCHS}"
                )
        if settings.size is not None or settings.width != 1.0:
            size = f"{settings.size or PAPER_SIZE}"
            sentences.append(
                f"pictures of {size}×{size} pixels, the layers of F {settings.width:g} times as wide as the "
                f"paper's, whose pictures have {PAPER_SIZE}×{PAPER_SIZE}"
            )
        sentences.append(
            f"batch 100, Adam 0.001 as the paper's{', in bfloat16' if settings.bf16 else ''}; passes through "
            f"F in a step of the parameterized attack: {settings.passes}"
        )
        more = OTHER_HAIR.get(settings.celeba)
        if any(row["role"] == "student" and cells for row, cells in measured.items()):
            sentences.append(
                f"students: {STUDENT_EPOCHS} epochs in batches of {STUDENT_BATCH} for each of their "
                "teacher's, a tenth of the answers held out to choose the epoch; asked for "
                f"{USERS_SHARE:.0%} of the images, not the test ones"
                + (f", and for the training images of {more}" if more else "")
                + "; the paper's: 20% of the training images"
            )
        return sentences


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
