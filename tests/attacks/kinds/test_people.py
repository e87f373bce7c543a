"""What an attack on people is given, from stored answers alone."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.people import PeopleAsked, evidence_of
from leakrange.attacks.people.membership import PeopleEvidence
from leakrange.attacks.people.questions import asked_pairs
from leakrange.data import load
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.steps.fit import FitJob
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind

CROWD = Crowd(people=20, images=6, public=20, students=5, enrolled=5, held=3)
DATA = DataSpec(name="synthpeople", size=32, count=4096, auxiliary=0.0, crowd=CROWD)


def stored(store: FolderStore, first: int, rows: int, sign: int = 1) -> str:
    """Answers that are their own numbers."""
    identity = digest([first, rows, sign])
    values = sign * np.arange(first, first + rows, dtype=np.float32)
    put_array(store, f"{identity}.npy", values[:, np.newaxis])
    return identity


def given(
    store: FolderStore, releases: ReleaseStore, release: ReleaseKind = "features", **changes: object
) -> tuple[PeopleEvidence, np.ndarray]:
    answers = [[stored(store, 0, 100)], [stored(store, 100, 100)]]
    fields = {"data": DATA, "count": 160, "known": 4, "answers": answers}
    asked = PeopleAsked.model_validate(fields | changes)
    job = FitJob(attack="class-based", release=release, evidence=asked.model_dump(mode="json"))
    return evidence_of(asked, job, releases)


def test_answers_are_of_persons_in_turn_and_a_few_memberships_are_granted(
    store: FolderStore, releases: ReleaseStore
) -> None:
    found, places = given(store, releases)
    assert found.releases[:, 0].tolist() == list(range(160))  # as many as the budget answers
    assert found.person.tolist() == [place % 40 for place in range(160)]
    assert places.tolist() == list(range(160))
    assert found.lessons is found.releases
    member = load(DATA).members()[:40]
    for kind in (True, False):
        granted = np.flatnonzero(found.membership == int(kind))
        np.testing.assert_array_equal(granted, np.flatnonzero(member == kind)[:4])
    assert (found.membership == -1).sum() == 32


def test_a_distance_is_of_the_person_whom_both_images_show(
    store: FolderStore, releases: ReleaseStore
) -> None:
    found, places = given(store, releases, "score")
    pairs = asked_pairs(CROWD, 160, DATA.seed)
    assert found.person.tolist() == (pairs[:, 0] % 40).tolist() == (pairs[:, 1] % 40).tolist()
    assert places.tolist() == pairs[:, 0].tolist()


def test_who_is_unaware_of_a_defence_learns_from_answers_without(
    store: FolderStore, releases: ReleaseStore
) -> None:
    before = [[stored(store, 0, 100, -1)], [stored(store, 100, 100, -1)]]
    found, _ = given(store, releases, undefended=before)
    assert found.lessons[:, 0].tolist() == [-number for number in range(160)]
    assert found.releases[:, 0].tolist() == list(range(160))


def test_distances_to_others_are_of_the_person_whose_first_picture_is_compared(
    store: FolderStore, releases: ReleaseStore
) -> None:
    fields = {"across": [[stored(store, 0, 150)]], "references": 3}
    found, _ = given(store, releases, "score", **fields)
    assert found.across is not None
    assert found.across.tolist() == [[3 * person, 3 * person + 1, 3 * person + 2] for person in range(40)]
    assert found.across_lessons is found.across
    undefended = {
        "undefended": [[stored(store, 0, 200, -1)]], "across_undefended": [[stored(store, 0, 150, -1)]]
    }  # fmt: skip
    found, _ = given(store, releases, "score", **fields, **undefended)
    assert found.across_lessons is not None
    assert found.across_lessons[1].tolist() == [-3, -4, -5]
    with pytest.raises(InvalidInput, match="100 distances of 40 people to 3 others"):
        given(store, releases, "score", **fields | {"across": [[stored(store, 0, 100)]]})


def test_a_shadow_is_told_who_is_in_each_picture_of_its_public_and_of_the_pool(
    store: FolderStore, releases: ReleaseStore
) -> None:
    shadow = {"public": stored(store, 0, 80), "pool": stored(store, 0, 160)}
    found, _ = given(store, releases, shadow=shadow, known=0)
    assert found.shadow is not None
    assert found.shadow.public_person.tolist() == [place % 20 for place in range(80)]
    assert found.shadow.pool_person.tolist() == [place % 40 for place in range(160)]
    assert found.shadow.public[:, 0].tolist() == list(range(80))
    assert not found.known.any()


def test_unused_fields_leave_what_was_fitted_before_its_name(store: FolderStore) -> None:
    asked = PeopleAsked(data=DATA, count=160, known=4, answers=[[stored(store, 0, 160)]])
    assert set(asked.model_dump(mode="json")) == {
        "data", "count", "known", "answers", "undefended", "recognised"
    }  # fmt: skip


def test_what_does_not_fit_is_told(store: FolderStore, releases: ReleaseStore) -> None:
    with pytest.raises(InvalidInput, match="200 and 200 answers to 240 questions"):
        given(store, releases, count=240)
    with pytest.raises(InvalidInput, match="no crowd"):
        given(store, releases, data=DataSpec(name="synthpeople"))


def test_who_reads_the_highest_confidences_alone_does_not_see_whose_they_are(
    store: FolderStore, releases: ReleaseStore
) -> None:
    rng = np.random.default_rng(0)
    soft = rng.dirichlet(np.ones(5), size=160).astype(np.float32)
    mixed = rng.permuted(soft, axis=1)  # the same confidences, of other people each time
    found = {}
    for name, values in (("soft", soft), ("mixed", mixed)):
        put_array(store, f"{digest(name)}.npy", values)
        asked = PeopleAsked(data=DATA, count=160, known=8, answers=[[digest(name)]])
        job = FitJob(attack="class-based", release="softmax", evidence=asked.model_dump(mode="json"))
        for revealed in (None, 3, 9):
            attack = attacks["class-based"](
                attacks["class-based"].Parameters.model_validate({"revealed": revealed})
            )
            found[name, revealed] = kinds["people"]().infer(attack, asked, job, releases)["scores"]
    for revealed in (3, 9):  # of five there are no nine
        np.testing.assert_allclose(found["soft", revealed], found["mixed", revealed], rtol=1e-5)
    assert not np.allclose(found["soft", None], found["mixed", None])
    assert not np.allclose(found["soft", 3], found["soft", 9])


def test_in_folds_scores_are_of_everybody(store: FolderStore, releases: ReleaseStore) -> None:
    asked = PeopleAsked(data=DATA, count=160, known=0, answers=[[stored(store, 0, 160)]])
    job = FitJob(attack="first-cut", release="score", evidence=asked.model_dump(mode="json"))
    attack = attacks["first-cut"](attacks["first-cut"].Parameters.model_validate({"folds": 4}))
    found = kinds["people"]().infer(attack, asked, job, releases)
    assert len(found["scores"]) == 160
    assert set((found["places"] % 40).tolist()) == set(range(40))
    assert sorted(set(found["fold"].tolist())) == [0, 1, 2, 3]
    assert not found["decided"].item()


def test_who_deduces_who_is_shown_is_right_as_far_as_its_recogniser_is(
    store: FolderStore, releases: ReleaseStore
) -> None:
    data, rng = load(DATA), np.random.default_rng(0)
    pool, own, person = data.where("pool"), data.where("photographs"), data.labels["person"]
    place = rng.normal(size=(int(person.max()) + 1, 16))
    put_array(store, f"{digest('a')}.npy", rng.normal(size=(240, 8)).astype(np.float32))
    found = {}
    for name, noise in (("right", 0.0), ("wrong", 100.0), ("granted", 0.0)):
        for part, images in (("pool", pool), ("photographs", own)):
            vectors = place[person[images]] + noise * rng.normal(size=(len(images), 16))
            put_array(store, f"{digest([name, part])}.npy", vectors.astype(np.float32))
        labels = "granted" if name == "granted" else "deduced"
        seen = {part: digest([name, part]) for part in ("pool", "photographs")}
        asked = PeopleAsked.model_validate(
            {"data": DATA, "count": 240, "known": 5, "answers": [[digest("a")]]}
            | ({} if name == "granted" else {"recognised": seen})
        )
        job = FitJob(attack="class-based", release="features", evidence=asked.model_dump(mode="json"))
        parameters = attacks["class-based"].Parameters.model_validate(
            {"labels": labels, "each": 4, "known": 5}
        )
        found[name] = kinds["people"]().infer(attacks["class-based"](parameters), asked, job, releases)
    assert found["right"]["labels_right"] == 1.0
    assert found["right"]["people"] == found["granted"]["people"] == 40
    np.testing.assert_array_equal(found["right"]["scores"], found["granted"]["scores"])
    assert found["right"]["places"].max() < 40  # of the people whom the images are taken for
    assert found["wrong"]["labels_right"] < 0.3
    assert found["wrong"]["people"] < 40  # too few images are taken for some of them


def test_who_names_whole_clusters_or_only_what_is_sure_is_right_more_often(
    store: FolderStore, releases: ReleaseStore
) -> None:
    data, rng = load(DATA), np.random.default_rng(0)
    pool, own, person = data.where("pool"), data.where("photographs"), data.labels["person"]
    place = rng.normal(size=(int(person.max()) + 1, 16))
    told = place[person[pool]] + 0.1 * rng.normal(size=(len(pool), 16))  # the service knows them well
    put_array(store, f"{digest('told')}.npy", told.astype(np.float32))
    for part, images in (("pool", pool), ("photographs", own)):  # the attacker's recogniser does not
        vectors = place[person[images]] + 1.2 * rng.normal(size=(len(images), 16))
        put_array(store, f"{digest(part)}.npy", vectors.astype(np.float32))
    asked = PeopleAsked.model_validate(
        {"data": DATA, "count": 240, "known": 10, "answers": [[digest("told")]]}
        | {"recognised": {part: digest(part) for part in ("pool", "photographs")}}
    )
    right, people = {}, {}
    for labels, sure in (("deduced", 1.0), ("deduced", 0.6), ("clustered", 1.0)):
        job = FitJob(attack="class-based", release="features", evidence=asked.model_dump(mode="json"))
        parameters = attacks["class-based"].Parameters.model_validate(
            {"labels": labels, "sure": sure, "each": 4, "known": 10}
        )
        found = kinds["people"]().infer(attacks["class-based"](parameters), asked, job, releases)
        right[labels, sure], people[labels, sure] = float(found["labels_right"]), float(found["people"])
    assert 0.2 < right["deduced", 1.0] < 0.6
    assert right["deduced", 0.6] > right["deduced", 1.0] + 0.08
    assert people["deduced", 0.6] < people["deduced", 1.0]  # of fewer people it has enough
    assert right["clustered", 1.0] > right["deduced", 1.0] + 0.2
