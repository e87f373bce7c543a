"""FACELEAKS as trials of a range: Tables 1 to 3, Figures 3 to 8, and Sections 3, 5, 6 and 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from leakrange.metrics import described
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.faceleaks.claims import CLAIMS
from leakrange.papers.faceleaks.gap import (
    GAP_NOTES,
    LABELS_NOTES,
    gap_note,
    gap_picture,
    labels_note,
    labels_picture,
)
from leakrange.papers.faceleaks.teachers import WAYS, taught
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.pictures import against, rocs
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.drawing import Picture
from leakrange.report.views.distribution import distribution

__all__ = ["FaceLeaks", "FaceLeaksSettings"]

FOLDS = 5
COMPONENTS = MappingProxyType({"features": 50, "recognition": 15})
"""Principal components that a classifier reads of the covariances; distances have few statistics, which are
all read."""
DELTA = 1e-5
CLIP = MappingProxyType({"features": 1.0, "verification": 2.0, "recognition": 1.0})
"""Bound of each answer's norm: feature vectors are normalised, two of them are at most 2 apart, probabilities
add up to 1."""
PICTURED = (
    ("first-cut", ("distance", "logistic"), "person"),
    ("class-based", ("mean", "S"), ""),
    ("class-based", ("logistic", "qda"), "person"),
)
"""For each service one attack without and one with auxiliary data, beside single answers."""
FEWEST = MappingProxyType({"tpr_at_0001": 1000, "tpr_at_001": 100})
"""Fewest others for a true positive rate at 0.1 % and 1 % false positives. They are people, since answers
about one person are no independent witnesses."""
RECORDS = 400
"""Number of pictures whose attribute is inferred, and of those with a known attribute where another number is
varied."""

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

    name = "faceleaks"
    title = "FaceLeaks"
    about = (
        "A teacher learns to tell its members apart. Its students (a features, a verification and a "
        "recognition service) are asked over HTTP, each attacker under a budget. Members and others are "
        "different people; members are asked about in images that the teacher has learned. Figures are means "
        "and deviations over the seeds, each of which casts the people anew and trains a teacher of its own. "
        "Signs, and which of several scores is used, are learnt on people apart from those who are judged."
    )
    figures = ("honesty", "verification_threshold", "teacher_accuracy", "auc", "precision", "recall", "f1")
    tables: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "3": "Section 3: the teacher and its students",
            "1-2": "Tables 1 and 2: first-cut membership inference",
            "5": "Sections 5.1 to 5.4: membership inference, AUC",
            "gap": "Membership inference against the teacher's generalisation gap",
            "budget": "Verification under a budget: the mean distance of some pairs of each person",
            "labels": "Algorithm 1, line 2: class labels that the attacker deduces",
            "7": "Section 7 and Table 3: defences, class-based inference without auxiliary data",
            "6": "Section 6: an attribute of people whom the teacher does not know",
            "8a": "Figure 8: an attribute from distances to some pictures",
            "8b": "Figure 8: an attribute from the confidences of a student of some people",
        }
    )
    labels = ("API", "defence", "attack")
    seeds = 5
    quick = ("3:service=features", "5:method=S|mean|distance", "7:defence=|round 1", "6:number=10,among=")
    quick_settings: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"data": "synthpeople", "size": 32, "width": 0.25, "epochs": 3, "images": 12, "tested": 40}
        | {"validated": 20, "pairs": 20, "students": 10, "public": 40, "repeats": 2}
        | {"attribute": "facial-hair"}
    )
    percent, decimals = False, 3
    views = ("roc", "distribution")
    claims, naming = CLAIMS, ("service", "defence", "method")
    Settings = FaceLeaksSettings
    settings: FaceLeaksSettings

    def trial(self, row: PaperRow, seed: int) -> PaperTrial:
        """A student service of the seed's teacher, its defence, and the attack on it."""
        data, provider, attack = self._data(row), self._provider(row), self._attack(row)
        return PaperTrial(seed=seed, data=data, provider=provider, attack=attack, defence=_defence(row))

    def _data(self, row: PaperRow) -> dict[str, Any]:
        settings = self.settings
        crowd_sizes = {
            "people": settings.validated + settings.tested,
            "images": settings.images,
            "public": settings.public,
        }
        crowd = crowd_sizes | {
            "students": int(row["students"] or settings.students),
            "enrolled": settings.enrolled,
        }
        people = {"name": settings.data, "auxiliary": 0.0, "crowd": crowd}  # cast anew by the trial's seed
        return people if settings.size is None else people | {"size": settings.size}

    def _provider(self, row: PaperRow) -> dict[str, Any]:
        settings, raw = self.settings, {"kind": row["service"], "normalised": False}
        fields, schedule = taught(row["teacher"])
        return {
            "behaviour": "honest",
            "target": "identity",
            "net": {"name": "residual", "width": settings.width},
            "schedule": {"epochs": settings.epochs, "batch": settings.batch, **schedule},
            "service": raw if row["features"] == "raw" else row["service"],
            **fields,
        }

    def _attack(self, row: PaperRow) -> dict[str, Any]:
        attack: dict[str, Any] = {"kind": row["attack"]}
        attack |= {"knowledge": row["knowledge"]} if row["knowledge"] else {}
        attack |= {"repeats": self.settings.repeats} if row["knowledge"] == "averaging" else {}
        if row["attack"] == "people-attribute":
            return attack | self._attribute(row)
        attack["known"] = self.settings.validated
        pairs = int(row["number"] or self.settings.pairs)
        attack |= {"pairs": pairs} if row["service"] == "verification" else {}
        attack |= {"logarithm": True} if row["logarithm"] else {}
        attack |= {"revealed": int(row["revealed"])} if row["revealed"] else {}
        attack |= {"folds": FOLDS} if row["folds_by"] else {}
        attack |= self._labels(row) if row["labels"] else {}
        return attack | (_first_cut(row) if row["attack"] == "first-cut" else _class_based(row))

    def _labels(self, row: PaperRow) -> dict[str, Any]:
        each = int(row["number"] or self.settings.images // 2)
        shares = {name: row.number(name) for name in ("sure", "trim") if row[name]}
        return {"labels": row["labels"], "each": each, **shares}

    def _attribute(self, row: PaperRow) -> dict[str, Any]:
        number = int(row["number"])
        sizes = {"auxiliary": RECORDS, "references": number} if row.table == "8a" else {"auxiliary": number}
        among = {"among": {"source": row["among"]}} if row["among"] else {}
        return {"sensitive": self.settings.attribute, "targets": RECORDS, **sizes, **among}

    def label(self, row: PaperRow) -> list[str]:
        """The service, its defence, and its attacker."""
        service = ", ".join(filter(None, (row["service"], row["features"])))
        people = f" of {row['students']} people" if row["students"] else ""
        texts = dict(_TEXTS) | ({"number": "{} images of each"} if row.table == "labels" else {})
        parts = [text.format(row[name]) for name, text in texts.items() if row[name] and row.table != "3"]
        if row.table == "gap" and not row["teacher"]:
            parts.append(_TEXTS["teacher"].format(f"plain {self.settings.epochs}"))
        return [service + people, row["defence"] or "none", ", ".join(parts)]

    def shown(self, table: str, rows: Sequence[PaperRow]) -> list[str]:  # noqa: ARG002
        """The figures that the table is about."""
        by_table = {"3": self.figures[:3], "1-2": self.figures[4:]}
        return list(by_table.get(table, ("auc",)))

    def notes(self, table: str) -> tuple[str, ...]:
        """The titles of the notes beside an AUC."""
        if table == "gap":
            return GAP_NOTES
        if table == "labels":
            return LABELS_NOTES
        titles = tuple(described(name).title for name in self._rates(table))
        if table == "5":
            return ("95 % interval, seed 0", "unsigned", *titles)
        return ("unsigned", *titles, "utility") if table == "7" else ()

    def _rates(self, table: str) -> list[str]:
        """The true positive rates of a table that the number of people allows to measure, whatever a cell
        holds."""
        shown = {"5": ("tpr_at_0001", "tpr_at_001"), "7": ("tpr_at_001",)}.get(table, ())
        return [name for name in shown if self.settings.tested >= FEWEST[name]]

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The notes of one row."""
        cells = measured[row]
        if row.table == "gap":
            return gap_note(row, measured)
        if row.table == "5":
            low, high = (cells[0].get(f"auc_{end}") if cells else None for end in ("low", "high"))
            interval = "–" if low is None else f"[{low:.3f}, {high:.3f}]"
            return [interval, *_means(cells, "unsigned_auc", *self._rates("5"))]
        if row.table == "7":
            return _means(cells, "unsigned_auc", *self._rates("7"), "honesty")
        if row.table == "labels":
            return labels_note(cells)
        return []

    def remark(self, table: str) -> str:
        """Help for reading a table."""
        return _REMARKS.get(table, "")

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """Figures 3 to 8, as far as their rows are measured."""
        with_cells = {row: cells for row, cells in measured.items() if cells}
        if table == "5":
            return [*_rocs(with_cells), *_distributions(with_cells)]
        if table in ("gap", "labels"):
            drawn = (
                gap_picture(self.tables[table], with_cells) if table == "gap" else labels_picture(with_cells)
            )
            return [] if drawn is None else [drawn]
        lines: dict[str, dict[float, Sequence[Cell]]] = {}
        for row, cells in with_cells.items():
            if not row["among"]:
                number = row.number("students" if table == "8b" else "number")
                lines.setdefault(row["service"], {})[number] = cells
        return [against(self.tables[table], _NUMBERS[table], lines)] if lines and table in _NUMBERS else []

    def _unmeasurable(self) -> list[str]:
        """The rates that are on no table, with the reason."""
        return [
            f"{described(name).title}: not measurable with {self.settings.tested} others, takes {fewest:,}"
            for name, fewest in FEWEST.items()
            if self.settings.tested < fewest
        ]

    def differences(self, measured: Measured) -> list[str]:  # noqa: ARG002
        """The teacher, the people, and the queries about them."""
        settings = self.settings
        return [
            f"teacher: net 'residual', width {settings.width:g}, {settings.epochs} epochs on "
            f"{settings.data}; the paper's: Inception-ResNet-v1 at 160×160, 512 features, 8,631 people of "
            "VGGFace2",
            f"attacked: {settings.tested} members and {settings.tested} others, {settings.images} images "
            f"each (and {settings.validated} of either for signs); the paper's: 200 and 200, 50 images each",
            f"covariances of {settings.images} images: not shrunk; mixtures and classifiers see them after "
            "PCA",
            f"verification: {settings.pairs} pairs of each person are asked; the paper asks all of 1,225",
            *self._unmeasurable(),
            "noise η: a standard deviation of η·|x|, then features to length 1 and softmax to sum 1",
        ]


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
_REMARKS = MappingProxyType(
    {
        "3": "Verification is of people whom the teacher never saw, recognition of other images.",
        "1-2": "Folds by record let a classifier see other images of the very person that it is asked about: "
        "what it then has is the person, not the membership.",
        "5": "Intervals are over people, since answers about one person are no independent witnesses. The "
        "teacher has learned its members' pictures by heart. The next table shows teachers that have not.",
        "gap": "Teachers by how they are trained, and for how many epochs: "
        + "; ".join(f"{way}: {how}" for way, how in WAYS.items())
        + ". The gap is the accuracy of identifying members in pictures that the teacher was trained on, "
        "minus that in other pictures of them. Intervals are over people, and means over the seeds.",
        "labels": "As many images of each class are used; classes with fewer are left out. Deduced: each "
        "image is named by itself. Clustered: the answers make as many clusters as there are people, each of "
        "which is named as a whole. The surest: only that share of the images is named. Trimmed: of each "
        "person's vectors that share is left out which lies farthest from the others. Right is the share of "
        "named images whose name is right. A deduced class is a member where the person of that name is one.",
        "7": "The score and its sign are learnt on undefended answers by the unaware attacker, on defended "
        "ones by the aware, on means of repeated answers by the averaging one. Utility is the accuracy of "
        "recognition, or of verification by the threshold that suits the defended answers. The paper's "
        "figures for top-k are told for a whole range of k.",
        "6": "By logistic regression. The paper draws curves and prints no figure.",
    }
)


def _defence(row: PaperRow) -> list[Any]:
    """The chain that the row names by one word and one number."""
    name, _, number = row["defence"].partition(" ")
    if name in ("noise", "sticky"):
        noise = {"scale": float(number), "mode": "multiplicative"}
        chain: list[Any] = [{"noise": noise | ({"sticky": True} if name == "sticky" else {})}]
        return chain if row["service"] == "verification" else [*chain, "normalise"]
    if name == "calibrated":
        return [
            {"calibrated-noise": {"epsilon": float(number), "delta": DELTA, "clip": CLIP[row["service"]]}}
        ]
    if name == "top-k":
        return [{"top-k": {"k": int(number), "rest": "zero"}}]
    return [{"round": {"figures": int(number)}}] if name else []


def _first_cut(row: PaperRow) -> dict[str, Any]:
    attack = {"folds_by": "record"} if row["folds_by"] == "record" else {}
    return attack if row["method"] == "distance" else {"classifier": row["method"], **attack}


def _class_based(row: PaperRow) -> dict[str, Any]:
    method = row["method"]
    if method in ("qda", "logistic"):
        components = COMPONENTS.get(row["service"])
        return {"method": method, **({"components": components} if components else {})}
    if method in ("mixture", "best"):
        return {"method": method}
    return {} if method in ("S", "any") else {"statistic": method}


def _means(cells: Sequence[Cell], *names: str) -> list[str]:
    columns = ([cell[name] for cell in cells if name in cell] for name in names)
    return [f"{float(np.mean(values)):.3f}" if values else "–" for values in columns]


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
