"""The results page of FACELEAKS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from leakrange.report.charts.drawing import Picture
from leakrange.report.document import Column, Document, Figure, Line, Section
from leakrange.reproduction.cells import Cell
from leakrange.reproduction.faceleaks import paper
from leakrange.reproduction.faceleaks.channel import APIS
from leakrange.reproduction.faceleaks.defended import NONE, Defence, defences
from leakrange.reproduction.faceleaks.part_work import PartWork
from leakrange.reproduction.faceleaks.pictures import against, distributions, rocs
from leakrange.reproduction.faceleaks.recogniser import REFERENCES
from leakrange.reproduction.faceleaks.settings import PAPER, PARTS, Part, Settings

__all__ = ["SECTIONS", "document"]

TITLE = "FaceLeaks"
ABOUT = (
    "A teacher learns to tell its members apart; its students (a features, a verification and a recognition "
    "service) are asked over HTTP, through the proxy, each question under an API key whose budget is exactly "
    "the samples that it takes. Members and others are different people; what is asked about members are "
    "images that the teacher has learned. Figures are means and deviations over the seeds, each of which "
    "casts the people anew and trains a teacher of its own. Signs, and which of several scores is used, are "
    "learnt on people apart from those on whom the AUCs are measured."
)
PRIMARY = {"features": "S", "verification": "mean", "recognition": "S"}
"""The score without auxiliary data that a curve is drawn of."""
SUPERVISED = {"features": "qda", "verification": "logistic", "recognition": "qda"}

Cells = Mapping[Part, Sequence[Cell]]
Row = Mapping[str, Any]


class Attack(NamedTuple):
    """What tells rows of a cell apart."""

    api: str
    variant: str
    strategy: str
    method: str


Rows = Mapping[Attack, Sequence[Row]]
"""Of each attack, one row of every seed."""


def document(works: Sequence[PartWork], settings: Settings, store: Path, command: str) -> Document:
    """The page of what the store has of ``works``."""
    cells: dict[Part, list[Cell]] = {}
    for work in works:
        if (cell := work.cell(store)) is not None:
            cells.setdefault(work.part, []).append(cell)
    sections = [section for part in PARTS if part in cells for section in SECTIONS[part](cells[part])]
    return Document(TITLE, command, ABOUT, _differences(cells, settings), sections)


def _differences(cells: Cells, settings: Settings) -> list[str]:
    said = [
        f"teacher: the net 'residual' at width {settings.width:g} on {settings.data}, {settings.epochs} "
        f"epochs of batches of {settings.batch}; the paper's: {PAPER['teacher']}",
        f"attacked: {settings.tested} members and {settings.tested} others, {settings.images} images each "
        f"(and {settings.validated} of either for signs); the paper's: {PAPER['classes']}",
        f"covariances of {settings.images} images: rank {settings.images - 1} at most, not shrunk; mixtures "
        "and classifiers see them after a PCA",
        f"verification: {settings.pairs} pairs of each person are asked, of "
        f"{settings.images * (settings.images - 1) // 2}; the paper asks all of 1,225",
        "noise η: a standard deviation of η·|x|, then features to length 1 and softmax to sum 1",
    ]
    for cell in cells.get("models", ())[:1]:
        said.append(f"data of seed 0: fingerprint {cell['fingerprint'][:16]}, {cell['identities']} members")
    asked = sum(cell["asked"] for each in cells.values() for cell in each)
    if asked:
        said.append(f"samples asked over HTTP for these figures: {asked:,}")
    return [*said, f"settings: {asdict(settings)}"]


def _models(cells: Sequence[Cell]) -> list[Section]:
    def line(name: str, printed: str | None, values: Sequence[float]) -> Line:
        figure = Figure(paper.STUDENTS[printed]) if printed else None
        return Line([name], [Column(figure, values, 3)], [str(len(values))])

    lines = [line("teacher, its members' other images", None, [c["teacher_accuracy"] for c in cells])]
    for kind in ("normalised", "raw"):
        own = [cell[f"verification_{kind}"] for cell in cells]
        printed = kind == "normalised"
        lines += [
            line(
                f"verification accuracy, features {kind}",
                "verification accuracy" if printed else None,
                [each["accuracy"] for each in own],
            ),
            line(
                f"verification threshold, features {kind}",
                "verification threshold" if printed else None,
                [each["threshold"] for each in own],
            ),
        ]
    for classes in sorted(cells[0]["students"], key=int):
        lines.append(
            line(
                f"recognition accuracy of {classes} people",
                "recognition accuracy" if classes == "20" else None,
                [cell["students"][classes] for cell in cells],
            )
        )
    return [
        Section(
            "Section 3: the teacher and its students",
            ["figure"],
            ["value"],
            ["seeds"],
            lines,
            remark="Verification is by Euclidean distance, in ten folds of pairs of people whom the teacher "
            "has never seen; recognition on other images of the student's own people.",
        )
    ]


def _membership(cells: Sequence[Cell]) -> list[Section]:
    rows = _rows(cells)
    tables = []
    for (api, variant, strategy, method), own in rows.items():
        if strategy != "first-cut" or "precision" not in own[0]:
            continue
        classifier, _, folds = method.partition(", ")
        printed = paper.FIRST_CUT.get((api, classifier)) if folds == "folds by person" else None
        columns = [
            Column(printed[i] if printed and variant in ("", "raw") else None, [r[name] for r in own], 3)
            for i, name in enumerate(("precision", "recall", "f1"))
        ]
        tables.append(Line([api, variant, method], columns, [str(len(own))]))
    aucs = []
    for (api, variant, strategy, method), own in rows.items():
        value = paper.AUC.get((api, strategy, method)) if variant in ("", "normalised") else None
        column = Column(Figure(value) if value else None, [row["auc"] for row in own], 3)
        aucs.append(Line([api, variant, strategy, method], [column], [*_beside(own), str(len(own))]))
    return [
        Section(
            "Tables 1 and 2: first-cut membership inference",
            ["API", "features", "classifier"],
            ["precision", "recall", "F1"],
            ["seeds"],
            tables,
            remark="Folds by record let a classifier see other images of the very person that it is asked "
            "about: what it then has is the person, not the membership.",
        ),
        Section(
            "Sections 5.1 to 5.4: membership inference, AUC",
            ["API", "features", "strategy", "method"],
            ["AUC"],
            ["95 % interval, seed 0", "unsigned", "TPR at 0.1 % FPR", "TPR at 1 % FPR", "seeds"],
            aucs,
            remark="Intervals are over people, since answers about one person are no independent witnesses: "
            "in a simulation of 120 people with 15 answers each, half of whose variance is the person's, an "
            "interval that takes them for such holds the truth 53 times in 100, one over people 95 times. Of "
            "single answers that were measured before this was done no interval is told (–).",
            pictures=[*_curves(rows), *_statistics(cells[0]), _spent(cells)],
        ),
    ]


def _rows(cells: Sequence[Cell]) -> Rows:
    found: dict[Attack, list[Row]] = {}
    for cell in cells:
        for row in cell["rows"]:
            attack = Attack(row["api"], row["variant"], row["strategy"], row["method"])
            found.setdefault(attack, []).append(row)
    return found


def _beside(own: Sequence[Row]) -> list[str]:
    """What stands beside an AUC. A cell that does not say over how many people its intervals are took each of
    a person's records for an independent one, which made those of single answers far too narrow."""
    means = [float(np.mean([row[name] for row in own])) for name in ("unsigned", "tpr_at_01", "tpr_at_1")]
    known = "people" in own[0] or own[0]["strategy"] != "first-cut"
    bounds = f"[{own[0]['low']:.3f}, {own[0]['high']:.3f}]" if known else "–"
    return [bounds, *(f"{mean:.3f}" for mean in means)]


def _curves(rows: Rows) -> list[Picture]:
    pictures = []
    for api in APIS:
        chosen = [
            ("first-cut", "distance as threshold" if api == "verification" else "logistic, folds by person"),
            ("class-based, no auxiliary data", PRIMARY[api]),
            ("class-based, auxiliary data", SUPERVISED[api]),
        ]
        variant = "" if api == "recognition" else "normalised"
        lines = []
        for strategy, method in chosen:
            own = rows[Attack(api, variant, strategy, method)]
            lines.append((f"{strategy}: {method}", [(row["fpr"], row["tpr"]) for row in own]))
        pictures.append(rocs(f"ROC curves, {api}", lines))
    return pictures


def _statistics(cell: Cell) -> list[Picture]:
    return [
        distributions(f"Distribution, {name}", own["name"], own["members"], own["others"])
        for name, own in cell["statistics"].items()
        if "raw" not in name or name == "features raw"
    ]


def _spent(cells: Sequence[Cell]) -> Picture:
    return against(
        "Verification under a budget",
        "pairs asked of each person",
        [("mean distance", _over_seeds([cell["spent"] for cell in cells]))],
    )


def _over_seeds(curves: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """(number, mean, deviation) of curves of (number, value, …) under several seeds."""
    values = np.array([[point[1] for point in curve] for curve in curves])
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return [
        [float(point[0]), float(mean), float(spread)]
        for point, mean, spread in zip(curves[0], values.mean(axis=0), deviation, strict=True)
    ]


def _labels(cells: Sequence[Cell]) -> list[Section]:
    lines = [
        Line(
            [f"{name} labels"],
            [Column(None, [cell[name]["auc"] for cell in cells], 3)],
            [_mean([cell[name]["people"] for cell in cells]), str(len(cells))],
        )
        for name in ("granted", "deduced")
    ]
    accuracy = _mean([cell["accuracy"] for cell in cells])
    return [
        Section(
            "Algorithm 1, line 2: class labels that the attacker deduces, features, S",
            ["labels"],
            ["AUC"],
            ["people", "seeds"],
            lines,
            remark=f"Deduced by the attacker's own recogniser, trained on public people, from up to "
            f"{REFERENCES} other photographs of each person: right for {accuracy} of the images. "
            f"{cells[0]['images']} images of each class are used, granted or deduced; classes with fewer are "
            "left out.",
        )
    ]


def _defences(cells: Sequence[Cell]) -> list[Section]:
    found: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        for row in cell["rows"]:
            found.setdefault((row["api"], row["defence"], row["reading"]), []).append(row)
    tried: dict[tuple[str, str], Defence] = {
        (api, each.title): each for api in APIS for each in defences(api, Settings.classes)
    }
    lines = []
    for (api, defence, reading), own in found.items():
        printed = _printed(api, tried.get((api, defence)), reading)
        aware = Column(printed, [row["aware"]["auc"] for row in own], 3)
        others = [
            _mean([row[knowledge]["auc"] for row in own if knowledge in row])
            for knowledge in ("unaware", "averaging")
        ]
        beside = [_mean([row["aware"][name] for row in own]) for name in ("unsigned", "tpr_at_1")]
        utility = _mean([row["utility"] for row in own])
        lines.append(Line([api, defence, reading], [aware], [*others, *beside, utility, str(len(own))]))
    return [
        Section(
            "Section 7 and Table 3: defences, AUC of class-based inference without auxiliary data",
            ["API", "defence", "reading"],
            ["AUC, aware"],
            ["unaware", "averaging", "unsigned", "TPR at 1 % FPR", "utility", "seeds"],
            lines,
            remark="Features are normalised. The score is the one that the attacker's validation people "
            "recommend: on undefended answers for the unaware attacker, on defended ones for the aware, on "
            "means of repeated questions for the averaging one (left open where a repeated question gets the "
            "same answer). Utility is the accuracy of verification from the defended features or distances, "
            "by the threshold that suits them best, or of recognition. Calibrated noise protects the image "
            "that is asked about, (ε, δ) a query, not the teacher's training data. The paper's figures for "
            "top-k are told for a whole range of k.",
        )
    ]


def _printed(api: str, defence: Defence | None, reading: str) -> Figure | None:
    """What the paper prints; nothing of a defence that is not tried any more."""
    if defence is None:
        return None
    if defence == NONE:
        return Figure(paper.UNDEFENDED[api])
    if defence.eta is not None and defence.fresh:  # the paper's noise is drawn anew
        return paper.NOISE.get((api, defence.eta))
    if defence.figures == 1:
        return Figure(paper.ROUNDED[api])
    if defence.k is not None:
        value = paper.TOP_K.get((reading, defence.k))
        return None if value is None else Figure(value)
    return None


def _mean(values: Sequence[float]) -> str:
    return f"{float(np.mean(values)):.3f}" if values else "–"


def _attributes(cells: Sequence[Cell]) -> list[Section]:
    sets = {"all": [cell["curves"] for cell in cells]}
    for name in cells[0]["sources"]:
        sets[name] = [cell["sources"][name] for cell in cells]
    lines = []
    for name, curves in sets.items():
        for api in APIS:
            for place, point in enumerate(curves[0][api]):
                values = [curve[api][place][1] for curve in curves]
                column = Column(None, values, 3)
                lines.append(Line([name, api, f"{point[0]:g}"], [column], [str(len(values))]))
    attribute = cells[0]["attribute"]
    numbers = [
        against(
            f"Attribute inference, {attribute}",
            "auxiliary records",
            [(api, _over_seeds([cell["curves"][api] for cell in cells])) for api in APIS],
        ),
        against(
            "Attribute inference from distances",
            "reference people",
            [("verification", _over_seeds([cell["references"] for cell in cells]))],
        ),
        against(
            "Attribute inference from confidences",
            "classes of the student",
            [("recognition", _over_seeds([cell["classes"] for cell in cells]))],
        ),
    ]
    return [
        Section(
            f"Section 6: inferring {attribute} of people whom the teacher does not know",
            ["target images of", "API", "auxiliary records"],
            ["AUC"],
            ["seeds"],
            lines,
            remark="A logistic regression on normalised features, on distances to 20 reference people, or on "
            "the confidences of a student of 20. The paper draws curves and prints no figure.",
            pictures=numbers,
        )
    ]


SECTIONS: Mapping[Part, Callable[[Sequence[Cell]], list[Section]]] = MappingProxyType(
    {
        "models": _models,
        "membership": _membership,
        "labels": _labels,
        "defences": _defences,
        "attributes": _attributes,
    }
)
"""What the page shows of each part's cells, one of each seed."""
