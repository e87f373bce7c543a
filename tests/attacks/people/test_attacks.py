"""The registered attacks on people: they win where a teacher spreads its members otherwise, and lose where
answers tell nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.kinds.people import in_folds
from leakrange.attacks.people.first_cut import first_cut
from leakrange.attacks.people.folds import even_folds
from leakrange.attacks.people.membership import PeopleAttack, PeopleEvidence
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput

PEOPLE, IMAGES, KNOWN = 80, 12, 15
METHODS = [
    ("class-based", {"method": "statistic"}),
    ("class-based", {"method": "mixture"}),
    ("class-based", {"method": "qda"}),
    ("class-based", {"method": "logistic"}),
]


def evidence(release: str, *, apart: float, seed: int = 0) -> tuple[PeopleEvidence, np.ndarray]:
    """Answers about people of whom half are members, whose vectors spread ``apart`` as far as others', and
    the truth."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(PEOPLE) < PEOPLE // 2
    person = np.arange(PEOPLE * IMAGES) % PEOPLE
    spread = np.where(member, apart, 1.0)[person][:, np.newaxis]
    if release == "score":
        releases = spread * (1.0 + 0.3 * rng.standard_normal((len(person), 1)))
    else:
        centre = rng.standard_normal((PEOPLE, 8))[person]
        releases = 3.0 * centre + spread * rng.standard_normal((len(person), 8))
    membership = np.full(PEOPLE, -1)
    for kind in (True, False):
        membership[np.flatnonzero(member == kind)[:KNOWN]] = int(kind)
    told = releases.astype(np.float32)
    return PeopleEvidence(told, told, person, membership, release), member


def attack(name: str, **parameters: object) -> PeopleAttack:
    entry = attacks[name]
    assert issubclass(entry, PeopleAttack)
    return entry(entry.Parameters.model_validate(parameters))


def reached(name: str, parameters: dict[str, object], given: PeopleEvidence, member: np.ndarray) -> float:
    places, scores = attack(name, **parameters).score(given)
    asked = given.person[places]
    assert not given.known[asked].any()
    assert set(asked.tolist()) == set(np.flatnonzero(~given.known).tolist())
    return float(auc(scores, member[asked]))


@pytest.mark.parametrize("release", ["features", "softmax", "score"])
@pytest.mark.parametrize(("name", "parameters"), METHODS)
def test_a_class_tells_what_its_teacher_learnt(release: str, name: str, parameters: dict[str, str]) -> None:
    assert reached(name, parameters, *evidence(release, apart=0.5)) > 0.9
    chance = [reached(name, parameters, *evidence(release, apart=1.0, seed=seed)) for seed in range(5)]
    assert 0.35 < np.mean(chance) < 0.65


def test_the_sign_is_learnt_not_given() -> None:
    for release in ("features", "score"):
        assert reached("class-based", {}, *evidence(release, apart=2.0)) > 0.9


def test_single_distances_tell_less_than_a_class_of_them_and_single_vectors_nothing() -> None:
    near, member = evidence("score", apart=0.8)
    single, together = (reached(name, {}, near, member) for name in ("first-cut", "class-based"))
    assert 0.6 < single < together
    for classifier in ("logistic", "forest", "svm"):
        chance = [
            reached("first-cut", {"classifier": classifier}, *evidence("features", apart=0.5, seed=seed))
            for seed in range(5)
        ]
        assert 0.35 < np.mean(chance) < 0.65


def test_who_is_unaware_of_a_defence_reads_defended_answers_by_what_it_learnt_without() -> None:
    plain, member = evidence("score", apart=0.5)
    turned = replace(plain, releases=-plain.lessons + 3.0)  # a defence that turns distances round
    assert reached("class-based", {}, turned, member) < 0.1
    assert reached("class-based", {}, replace(turned, lessons=turned.releases), member) > 0.9


def test_confidences_near_nought_and_one_tell_in_logarithms() -> None:
    def saturated(seed: int) -> tuple[PeopleEvidence, np.ndarray]:
        logits, member = evidence("softmax", apart=0.6, seed=seed)
        powers = np.exp(2.0 * logits.releases - (2.0 * logits.releases).max(axis=1, keepdims=True))
        soft = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
        return replace(logits, releases=soft, lessons=soft), member

    for method in ("qda", "logistic"):
        plain, told = (
            np.mean(
                [
                    reached("class-based", {"method": method, "logarithm": logarithm}, *saturated(seed))
                    for seed in range(4)
                ]
            )
            for logarithm in (False, True)
        )
        assert told > max(0.85, plain + 0.15), method


def test_in_folds_everybody_is_asked_after_and_figures_are_the_papers() -> None:
    """The registered attack, told all but a fold, scores as the function that cuts folds by people."""
    for apart in (0.5, 2.0):
        given, member = evidence("softmax", apart=apart)
        told = replace(given, releases=given.releases + 0.8 * member[given.person][:, np.newaxis])
        told = replace(told, lessons=told.releases)
        rows, scores = in_folds(attack("first-cut"), told, member, 5)
        assert sorted(rows.tolist()) == list(range(len(told.person)))
        by_row = np.empty(len(rows))
        by_row[rows] = scores
        fold = even_folds(member, 5)[told.person]
        areas = [auc(by_row[fold == k], member[told.person][fold == k]) for k in range(5)]
        expected = first_cut(told.releases, member[told.person], told.person)
        assert np.mean(areas) == pytest.approx(expected.auc[0])
        assert np.mean(areas) > 0.6


@pytest.mark.parametrize("method", ["qda", "logistic", "statistic"])
def test_a_class_is_told_in_folds_as_well(method: str) -> None:
    found = []
    for apart in (0.5, 1.0):
        given, member = evidence("features", apart=apart)
        rows, scores = in_folds(attack("class-based", method=method), given, member, 4)
        assert sorted(given.person[rows].tolist()) == list(range(PEOPLE))
        found.append(auc(scores, member[given.person[rows]]))
    assert found[0] > 0.85
    assert 0.2 < found[1] < 0.8


def test_evidence_that_cannot_be_used_is_refused() -> None:
    given, _ = evidence("features", apart=0.5)
    broken = given.releases.copy()
    broken[3, 2] = np.nan
    unknown = np.full(PEOPLE, -1)
    for wrong in (
        replace(given, releases=broken),
        replace(given, membership=unknown),
        replace(given, person=given.person[:-1]),
        replace(given, membership=given.membership[:-5]),
    ):
        for name in ("class-based", "first-cut"):
            with pytest.raises(InvalidInput):
                attack(name).score(wrong)
