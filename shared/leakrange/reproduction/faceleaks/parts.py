"""What is measured of one scene, part by part; each gives a cell of plain figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.attribute import auxiliary_curve, reference_curve
from leakrange.attacks.people.class_scores import ClassScores, log_confidences, of_distances, of_vectors
from leakrange.attacks.people.classes import equal_images
from leakrange.attacks.people.covariance import covariance_scores
from leakrange.attacks.people.topk import revealed_scores
from leakrange.attacks.people.unsupervised import signed
from leakrange.metrics import auc, pair_distances
from leakrange.metrics.verification import verification
from leakrange.reproduction.cells import Cell
from leakrange.reproduction.faceleaks.channel import APIS, Api
from leakrange.reproduction.faceleaks.defended import NONE, Defence, defences
from leakrange.reproduction.faceleaks.membership import class_based, first_cut_rows
from leakrange.reproduction.faceleaks.recogniser import deduced, recogniser
from leakrange.reproduction.faceleaks.scene import Scene
from leakrange.reproduction.faceleaks.settings import Part
from leakrange.reproduction.faceleaks.world import enrolment, records

__all__ = ["MEASURES"]

Tell = Callable[[float], None]
FEWEST = 4
"""Images of a class that a covariance is taken of, at least."""
CLASSES = (5, 10, 20)
REFERENCES = 20
RECORDS = 400
SIZES = (10, 30, 50, 100, 400)
SPENT = (1, 2, 3, 5, 10, 20, 40)
"""Pairs of each person, up to the settings'."""


def models(scene: Scene, tell: Tell) -> Cell:
    """The teacher, verification with it, and its students (Section 3)."""
    found = scene.teacher
    tell(0.6)
    cell: Cell = {
        "identities": len(scene.people.attributes["identity"].classes),
        "teacher_accuracy": found.accuracy,
        "teacher_loss": found.loss,
        "seconds": found.seconds,
        "fingerprint": scene.people.fingerprint,
    }
    for kind, normalised in (("normalised", True), ("raw", False)):
        checked = scene.verification(normalised=normalised)
        cell[f"verification_{kind}"] = {
            "accuracy": checked.mean,
            "deviation": checked.deviation,
            "threshold": checked.threshold,
        }
    cell["students"] = {str(classes): scene.student(classes).accuracy for classes in _sizes(scene)}
    return cell


def membership(scene: Scene, tell: Tell) -> Cell:
    """Every attack on every API without a defence (Tables 1 and 2, Figures 3 to 6), features and distances
    normalised and not, confidences as they are and their logarithms."""
    rows = []
    statistics = {}
    variants = [(api, kind) for api in APIS for kind in (True, False) if kind or api != "recognition"]
    for done, (api, normalised) in enumerate(variants):
        service = scene.service(api, normalised=normalised)
        released = scene.attacked(service, NONE)
        owners = scene.person[scene.pairs[:, 0]] if api == "verification" else None
        variant = "" if api == "recognition" else "normalised" if normalised else "raw"
        readings: dict[str, NDArray[np.floating]] = {variant: released}
        if api == "recognition":
            readings["logarithms"] = log_confidences(released)
        scored = {reading: _scores(scene, api, read) for reading, read in readings.items()}
        for reading, read in readings.items():
            for row in (
                *first_cut_rows(api, read, owners, scene.targets, scene.seed),
                *class_based(api, scored[reading], scene.targets, scene.seed),
            ):
                rows.append(row | {"variant": reading})
        found = scored[variant]
        statistics[f"{api} {variant}".strip()] = {
            "name": found.names[0],
            "members": _plain(found.scores[scene.targets.member, 0]),
            "others": _plain(found.scores[~scene.targets.member, 0]),
        }
        tell((done + 1) / len(variants))
    return {"rows": rows, "statistics": statistics, "spent": _spent(scene)}


def defended(scene: Scene, tell: Tell) -> Cell:
    """Every defence on every API against attackers of all three knowledges, with its utility (Section 7)."""
    rows = []
    planned = [(api, defence) for api in APIS for defence in defences(api, scene.settings.classes)]
    undefended = {
        api: _scores(scene, api, scene.attacked(scene.service(api), NONE), mixture=False) for api in APIS
    }
    for done, (api, defence) in enumerate(planned):
        service, clean = scene.service(api), undefended[api]
        utility, answers = _utility(scene, api, defence), scene.attacked(service, defence)
        readings: dict[str, Callable[[NDArray[np.float32]], NDArray[np.floating]]] = {"": lambda x: x}
        if defence.k is not None:
            k = defence.k
            readings = {
                "zeros for the others": lambda x: x,
                "the k highest": lambda x, k=k: revealed_scores(x, k),  # type: ignore[misc]
            }
        for reading, read in readings.items():
            row = {"api": api, "defence": defence.title, "reading": reading, **utility}
            seen = _scores(scene, api, read(answers), mixture=False)
            row |= _best("aware", seen, scene, None)
            same_shape = reading != "the k highest"
            row |= _best("unaware", seen, scene, clean) if same_shape else {}
            if defence.fresh:
                averaged = scene.attacked(service, defence, scene.settings.repeats)
                row |= _best("averaging", _scores(scene, api, averaged, mixture=False), scene, None)
            rows.append(row)
        tell((done + 1) / len(planned))
    return {"rows": rows}


def attribute(scene: Scene, tell: Tell) -> Cell:
    """Guessing an attribute of people whom the teacher does not know (Algorithm 2, Figures 7 and 8)."""
    name = next(name for name in ("gender", "facial-hair") if name in scene.people.attributes)
    who = records(scene.people, name, RECORDS, REFERENCES, scene.seed)
    labels = scene.people.labels[name]
    sources = scene.people.attributes["source"].classes if "source" in scene.people.attributes else ()
    owner = scene.people.labels["person"]
    known, truth = labels[who.auxiliary] == 1, labels[who.target] == 1
    cell: Cell = {"attribute": name, "curves": {}, "sources": {}, "references": [], "classes": []}
    for done, api in enumerate(APIS):
        service = scene.service(api)
        auxiliary, target = (
            _described(scene, service.api, part, who.references, scene.settings.classes)
            for part in (who.auxiliary, who.target)
        )
        owners = owner[who.auxiliary]
        points = auxiliary_curve(auxiliary, known, target, truth, SIZES, person=owners, seed=scene.seed)
        cell["curves"][api] = [[point.size, point.mean, point.deviation] for point in points]
        for number, set_name in enumerate(sources):
            part = scene.people.labels["source"][who.target] == number
            of_source = auxiliary_curve(
                auxiliary, known, target[part], truth[part], SIZES, person=owners, seed=scene.seed
            )
            cell["sources"].setdefault(set_name, {})[api] = [[p.size, p.mean] for p in of_source]
        if api == "verification":
            found = reference_curve(auxiliary, known, target, truth, (2, 5, 10, REFERENCES), seed=scene.seed)
            cell["references"] = [[point.size, point.mean, point.deviation] for point in found]
        tell((done + 1) / (len(APIS) + 1))
    for classes in _sizes(scene):
        auxiliary, target = (
            _described(scene, "recognition", part, who.references, classes)
            for part in (who.auxiliary, who.target)
        )
        [point] = auxiliary_curve(
            auxiliary, known, target, truth, (RECORDS,), draws=1, person=owner[who.auxiliary], seed=scene.seed
        )
        cell["classes"].append([classes, point.mean, 0.0])
    return cell


def labels(scene: Scene, tell: Tell) -> Cell:
    """Class-based inference with class labels that the attacker has deduced, beside granted ones (Algorithm
    1, line 2). Of every class as many images are used, and classes with fewer are left out."""
    net = recogniser(scene.people, scene.settings, scene.seed)
    tell(0.5)
    found = deduced(scene.people, scene.targets, net)
    sizes = np.bincount(found.person, minlength=len(scene.targets.images))
    each = max(FEWEST, scene.settings.images // 2)
    released = scene.attacked(scene.service("features"), NONE)
    cell: Cell = {"accuracy": found.accuracy, "images": each, "classes": int((sizes >= each).sum())}
    for name, owner in (("deduced", found.person), ("granted", scene.person)):
        kept = equal_images(owner, each, scene.seed)
        people = np.unique(owner[kept])
        scores = covariance_scores(released[kept], owner[kept])
        learnt = signed(scores, scene.targets.member[people], ~scene.targets.tested[people])
        cell[name] = {"auc": learnt.auc, "unsigned": learnt.unsigned_auc, "people": len(people)}
    return cell


MEASURES: Mapping[Part, Callable[[Scene, Tell], Cell]] = MappingProxyType(
    {
        "models": models,
        "membership": membership,
        "labels": labels,
        "defences": defended,
        "attributes": attribute,
    }
)
"""How each part is measured."""


def _sizes(scene: Scene) -> list[int]:
    """Numbers of people that students are made for."""
    most = scene.settings.classes
    return [*(classes for classes in CLASSES if classes < most), most]


def _scores(scene: Scene, api: Api, released: NDArray[np.floating], *, mixture: bool = True) -> ClassScores:
    if api == "verification":
        owners = scene.person[scene.pairs[:, 0]]
        return of_distances(released.ravel(), owners, mixture=mixture, seed=scene.seed)
    return of_vectors(api, released, len(scene.targets.images), mixture=mixture, seed=scene.seed)


def _best(knowledge: str, seen: ClassScores, scene: Scene, clean: ClassScores | None) -> Cell:
    """The score that the validation people recommend to an attacker of that knowledge, on the test people."""
    rows = class_based("", seen, scene.targets, scene.seed, validation=clean, supervised=False)
    best = next(row for row in rows if row["method"] == "best")
    return {knowledge: {name: best[name] for name in ("auc", "unsigned", "tpr_at_1", "chosen")}}


def _utility(scene: Scene, api: Api, defence: Defence) -> Cell:
    """What the defended service is still good for: accuracy of verification, by the threshold that suits it,
    or of recognition."""
    if api == "recognition":
        who = enrolment(scene.people, scene.settings, scene.settings.classes, scene.seed)
        released = scene.asked(scene.service(api), defence, who.held)
        return {"utility": float((released.argmax(axis=1) == who.held_class).mean())}
    pairs = scene.threshold_pairs
    if api == "verification":
        distances = scene.asked(scene.service(api), defence, pairs.images)[:, 0]
    else:
        wanted, place = np.unique(pairs.images, return_inverse=True)
        vectors = scene.asked(scene.service(api), defence, wanted)[place.reshape(pairs.images.shape)]
        distances = pair_distances(vectors[:, 0], vectors[:, 1], "euclidean")
    return {"utility": verification(distances, pairs.same, pairs.fold).mean}


def _spent(scene: Scene) -> list[list[float]]:
    """AUC of the mean distance against pairs asked of each person: a smaller budget's are a larger one's
    first."""
    distances = scene.attacked(scene.service("verification"), NONE).ravel()
    owners = scene.person[scene.pairs[:, 0]]
    people, tested = len(scene.targets.images), scene.targets.tested
    curve = []
    for each in SPENT:
        if each > scene.settings.pairs:
            break
        kept = slice(0, each * people)
        means = np.bincount(owners[kept], distances[kept], people) / np.bincount(
            owners[kept], minlength=people
        )
        curve.append([float(each), auc(-means[tested], scene.targets.member[tested])])
    return curve


def _described(
    scene: Scene, api: Api, images: NDArray[np.int64], references: NDArray[np.int64], classes: int
) -> NDArray[np.float32]:
    """What an API tells of each image: (n, d). Of verification the distances to the references."""
    if api != "verification":
        return scene.asked(scene.service(api, classes=classes), NONE, images)
    pairs = np.stack([np.repeat(images, len(references)), np.tile(references, len(images))], axis=1)
    return scene.asked(scene.service(api), NONE, pairs)[:, 0].reshape(len(images), len(references))


def _plain(values: NDArray[np.floating]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
