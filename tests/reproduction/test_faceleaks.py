"""FACELEAKS: who is who, what the attacks conclude from releases, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leakrange.attacks.people.class_scores import of_distances, of_vectors
from leakrange.data import Samples, load
from leakrange.data.people import ROLES
from leakrange.defences.output import Chain
from leakrange.metrics import auc_interval
from leakrange.report.document import html, markdown, pictures
from leakrange.reproduction.cells import Cells
from leakrange.reproduction.faceleaks.channel import APIS
from leakrange.reproduction.faceleaks.defended import defences
from leakrange.reproduction.faceleaks.membership import class_based, first_cut_rows, judged
from leakrange.reproduction.faceleaks.part_work import PartWork
from leakrange.reproduction.faceleaks.parts import MEASURES
from leakrange.reproduction.faceleaks.results import SECTIONS, document
from leakrange.reproduction.faceleaks.settings import PARTS, Settings
from leakrange.reproduction.faceleaks.world import Targets, enrolment, records, targets, threshold_pairs
from leakrange.wire.errors import InvalidInput

SETTINGS = Settings(data="synthpeople", size=32, images=12, tested=40, validated=20, pairs=20, classes=10)


@pytest.fixture(scope="module")
def people() -> Samples:
    return load(SETTINGS.spec(0))


def test_members_are_asked_about_what_was_learned_and_others_were_never_seen(people: Samples) -> None:
    who = targets(people, SETTINGS, 0)
    person = people.labels["person"]
    assert who.images.shape == (120, 12)
    assert who.member.sum() == 60
    assert (who.member & who.tested).sum() == (~who.member & who.tested).sum() == 40
    for images, member in zip(who.images, who.member, strict=True):
        assert len(set(person[images])) == 1
        assert len(set(images)) == 12
        assert set(images) <= set(people.where("train" if member else "test"))
        assert set(people.labels["role"][images]) == {ROLES.index("member" if member else "outsider")}
    again, other = targets(people, SETTINGS, 0), targets(people, SETTINGS, 1)
    assert (again.images == who.images).all()
    assert (other.images != who.images).any()


def test_no_person_sets_a_threshold_and_is_judged_by_it(people: Samples) -> None:
    pairs = threshold_pairs(people, 0)
    person = people.labels["person"]
    assert (people.labels["role"][pairs.images] == ROLES.index("public")).all()
    assert (pairs.same == (person[pairs.images[:, 0]] == person[pairs.images[:, 1]])).all()
    assert pairs.same.mean() == 0.5
    folds = [set(person[pairs.images[pairs.fold == fold]].ravel()) for fold in range(10)]
    assert sum(map(len, folds)) == len(set.union(*folds))


def test_a_student_is_tested_on_other_images_of_its_people(people: Samples) -> None:
    who = enrolment(people, SETTINGS, 10, 0)
    assert not set(who.learned) & set(who.held)
    for images, classes in ((who.learned, who.learned_class), (who.held, who.held_class)):
        assert (people.labels["student"][images] == classes).all()
    assert np.bincount(who.learned_class).tolist() == [SETTINGS.enrolled] * 10


def test_records_whose_attribute_is_guessed_share_no_person_with_the_attackers(people: Samples) -> None:
    who = records(people, "facial-hair", 200, 6, 0)
    person, label = people.labels["person"], people.labels["facial-hair"]
    parts = [set(person[part]) for part in (who.target, who.auxiliary, who.references)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert label[who.target].mean() == label[who.auxiliary].mean() == 0.5
    assert label[who.references].tolist() == [0, 1] * 3
    member = ROLES.index("member")
    assert member not in people.labels["role"][np.concatenate([who.target, who.auxiliary])]


def test_an_attribute_that_nobody_is_known_to_have_is_told(people: Samples) -> None:
    unknown = dict(people.labels) | {"facial-hair": np.full(len(people), -1)}
    with pytest.raises(InvalidInput, match="too few strangers of facial-hair"):
        records(replace(people, labels=unknown), "facial-hair", 200, 6, 0)


def crowd(spread: float) -> tuple[Targets, np.ndarray]:
    """60 members and 60 others of 12 images; members' vectors are ``spread`` times as wide."""
    rng = np.random.default_rng(0)
    member = np.arange(120) < 60
    tested = np.tile(np.arange(60) >= 20, 2)
    width = np.where(member, spread, 1.0)[:, None, None]
    vectors = rng.normal(0, 2, (120, 1, 8)) + width * rng.normal(0, 1, (120, 12, 8))
    return Targets(np.arange(1440).reshape(120, 12), member, tested), vectors.reshape(-1, 8)


def rows(who: Targets, vectors: np.ndarray) -> dict[tuple[str, str], float]:
    found = [
        *first_cut_rows("features", vectors, None, who, 0),
        *class_based("features", of_vectors("features", vectors, 120), who, 0),
    ]
    person = np.repeat(np.arange(120), 12)
    pairs = np.stack([np.arange(0, 1440, 2), np.arange(1, 1440, 2)], axis=1)
    distances = np.linalg.norm(vectors[pairs[:, 0]] - vectors[pairs[:, 1]], axis=1)
    owners = person[pairs[:, 0]]
    found += first_cut_rows("verification", distances, owners, who, 0)
    found += class_based("verification", of_distances(distances, owners), who, 0)
    return {(row["api"], row["method"]): row["auc"] for row in found}


def test_concentrated_members_are_found_by_classes_and_not_by_single_images() -> None:
    aucs = rows(*crowd(spread=0.7))
    for method in ("S", "best", "mixture", "qda", "logistic"):
        assert aucs["features", method] > 0.85, method
    for method in ("mean", "median", "logistic"):
        assert aucs["verification", method] > 0.75, method
    assert abs(aucs["features", "logistic, folds by person"] - 0.5) < 0.1
    assert aucs["verification", "mean"] > aucs["verification", "distance as threshold"] > 0.55


def test_nothing_is_found_where_there_is_nothing() -> None:
    aucs = rows(*crowd(spread=1.0))
    assert all(abs(auc - 0.5) < 0.17 for (_, method), auc in aucs.items() if "record" not in method)


def test_intervals_of_single_answers_are_over_people_not_over_answers() -> None:
    who, vectors = crowd(spread=0.7)
    person = np.repeat(np.arange(120), 12)
    distances = np.linalg.norm(vectors[::2] - vectors[1::2], axis=1)
    [apart] = first_cut_rows("verification", distances, person[::2], who, 0)
    one, *_ = first_cut_rows("features", vectors, None, who, 0)
    for found in (apart, one):
        assert found["people"] == 80
        # Of 40 members and 40 others nobody knows an AUC near one half better than this.
        assert found["high"] - found["low"] > 0.05
    # Vectors of one person lie together, and so do their scores: hardly more than one of each is told.
    assert one["high"] - one["low"] > 0.8 * np.diff(auc_interval(one["auc"], 40, 40))[0]


def test_an_unaware_attackers_sign_comes_from_undefended_answers() -> None:
    who, vectors = crowd(spread=0.7)
    scores = of_vectors("features", vectors, 120, mixture=False)
    turned = replace(scores, scores=-scores.scores)  # a defence that turns everything around
    for validation, right in ((None, True), (scores, False)):
        [best] = [
            row
            for row in class_based("", turned, who, 0, validation=validation, supervised=False)
            if row["method"] == "best"
        ]
        assert (best["auc"] > 0.9) is right
        assert best["unsigned"] > 0.9


def test_every_defence_fits_the_release_of_its_api() -> None:
    kinds = {"features": "features", "verification": "score", "recognition": "softmax"}
    for api in APIS:
        found = defences(api, 20)
        assert found[0].chain == ()
        for defence in found:
            chain = Chain.parse(list(defence.chain))
            assert chain.refuse(kinds[api]) is None, (api, defence.title)  # type: ignore[arg-type]
            assert defence.fresh != chain.deterministic, defence.title


def test_no_more_scores_are_revealed_than_a_student_has_classes() -> None:
    few = {defence.k for defence in defences("recognition", 10)}
    assert few == {None, 5, 2, 1}
    assert {defence.k for defence in defences("recognition", 20)} == few | {10, 15}


def test_every_part_is_measured_and_shown() -> None:
    assert set(PARTS) == set(MEASURES) == set(SECTIONS)


METHODS = (
    ("first-cut", "distance as threshold"),
    ("first-cut", "logistic, folds by person"),
    ("class-based, no auxiliary data", "S"),
    ("class-based, no auxiliary data", "mean"),
    ("class-based, auxiliary data", "qda"),
    ("class-based, auxiliary data", "logistic"),
)


def row(api: str, variant: str, strategy: str, method: str) -> dict[str, object]:
    rng = np.random.default_rng(0)
    found = judged(api, strategy, method, rng.random(40), np.arange(40) < 20)
    return found | {"variant": variant, "precision": 0.5, "recall": 0.4, "f1": 0.44}


def test_an_interval_that_took_answers_for_people_is_not_shown() -> None:
    """What was measured before intervals were over people does not say over how many they are."""
    now = [
        row(api, "" if api == "recognition" else "normalised", strategy, method)
        for api in APIS
        for strategy, method in METHODS
    ]
    before = [{name: value for name, value in each.items() if name != "people"} for each in now]
    for found, early in ((now, False), (before, True)):
        [_, aucs] = SECTIONS["membership"]([{"rows": found, "statistics": {}, "spent": [[1, 0.6]]}])
        for line in aucs.lines:
            strategy, interval = line.labels[2], line.notes[0]
            assert (interval == "–") is (early and strategy == "first-cut"), line


def test_the_page_shows_every_part_that_there_is_and_stands_alone(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    variants = {"features": "normalised", "verification": "normalised", "recognition": ""}
    curve = [[10, 0.6, 0.0], [30, 0.7, 0.0]]
    content = {
        "membership": {
            "rows": [row(api, variant, *each) for api, variant in variants.items() for each in METHODS],
            "statistics": {"features raw": {"name": "S", "members": [1, 2.0], "others": [2, 3.0]}},
            "spent": [[1, 0.6], [5, 0.7]],
        },
        "attributes": {
            "attribute": "gender",
            "curves": dict.fromkeys(APIS, curve),
            "sources": {},
            "references": curve,
            "classes": curve,
        },
    }
    works = [PartWork(seed, part, SETTINGS, None, None) for seed in range(2) for part in ("models", *content)]
    for work in works:
        assert not work.done(tmp_path)
        if work.part in content:
            cells.put(work.identity(), content[work.part] | {"asked": 7})
            assert work.done(tmp_path)
    found = document(works, SETTINGS, tmp_path, "leakrange reproduce faceleaks")
    text, page, files = markdown(found, "faceleaks"), html(found), pictures(found)
    assert "samples asked over HTTP for these figures: 28" in text
    assert "| features | normalised | class-based, auxiliary data | qda | 0.710 |" in text
    assert "Section 3" not in text  # was not measured
    assert len(files) == page.count("<figure>") == 3 + 1 + 1 + 3
    for name in files:
        assert f"](faceleaks/{name})" in text
