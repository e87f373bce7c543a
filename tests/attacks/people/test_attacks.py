"""The registered attacks on people: they win where a teacher spreads its members otherwise, and lose where
answers tell nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from leakrange.attacks import attacks
from leakrange.attacks.people.classes import FoldsBy
from leakrange.attacks.people.membership import PeopleAttack, PeopleEvidence, in_folds
from leakrange.metrics import Membership, auc, measured
from leakrange.wire.errors import InvalidInput

PEOPLE, IMAGES, KNOWN = 80, 12, 15
METHODS = [
    ("class-based", {"method": "statistic"}),
    ("class-based", {"method": "mixture"}),
    ("class-based", {"method": "best"}),
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
    places, scores, _ = attack(name, **parameters).score(given)
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


def nobody_known(given: PeopleEvidence) -> PeopleEvidence:
    return replace(given, membership=np.full(PEOPLE, -1))


@pytest.mark.parametrize("classifier", ["logistic", "svm", "forest"])
@pytest.mark.parametrize("folds_by", ["person", "record"])
def test_in_folds_everybody_is_asked_after_and_figures_are_scikit_learns(
    classifier: Literal["logistic", "svm", "forest"], folds_by: FoldsBy
) -> None:
    """The registered attack in folds has the precision, recall, F1 and AUC of Tables 1 and 2, means over
    folds, as scikit-learn computes them of each fold."""
    given, member = evidence("softmax", apart=0.5)
    told = replace(given, releases=given.releases + 0.8 * member[given.person][:, np.newaxis])
    told = nobody_known(replace(told, lessons=told.releases))
    parameters = {"classifier": classifier, "folds_by": folds_by, "folds": 5}
    (rows, scores, _), fold = in_folds(attack("first-cut", **parameters), told, member)
    assert sorted(rows.tolist()) == list(range(len(told.person)))
    truth = member[told.person[rows]]
    people_in = [set(told.person[rows[fold == k]].tolist()) for k in range(5)]
    assert (sum(map(len, people_in)) == PEOPLE) == (folds_by == "person")
    found = Membership(scores, truth, told.person[rows], fold, decided=True)
    figures = {
        "precision": lambda s, y: precision_score(y, s > 0),
        "recall": lambda s, y: recall_score(y, s > 0),
        "f1": lambda s, y: f1_score(y, s > 0),
        "auc": lambda s, y: roc_auc_score(y, s),
    }
    for name, figure in figures.items():
        each = [figure(scores[fold == k], truth[fold == k]) for k in range(5)]
        assert measured(found)[name].value == pytest.approx(np.mean(each)), name
    assert measured(found)["auc"].value > 0.5


def test_in_folds_who_is_known_is_left_out_and_the_pools_order_does_not_matter() -> None:
    given, member = evidence("features", apart=0.5)
    classes = attack("class-based", method="logistic", folds=4)
    (rows, scores, _), fold = in_folds(classes, given, member)
    people = given.person[rows]
    assert sorted(people.tolist()) == np.flatnonzero(~given.known).tolist()
    turned = np.argsort(~member, kind="stable")  # members first: another order, in which members keep theirs
    place = np.argsort(turned)
    other = replace(given, person=place[given.person], membership=given.membership[turned])
    (again, same, _), folds = in_folds(classes, other, member[turned])
    assert turned[other.person[again]].tolist() == people.tolist()
    assert folds.tolist() == fold.tolist()
    np.testing.assert_array_equal(same, scores)


@pytest.mark.parametrize("method", ["qda", "logistic", "statistic"])
def test_a_class_is_told_in_folds_as_well(method: str) -> None:
    found = []
    for apart in (0.5, 1.0):
        given, member = evidence("features", apart=apart)
        classes = attack("class-based", method=method, folds=4)
        (rows, scores, chosen), _ = in_folds(classes, nobody_known(given), member)
        assert chosen.startswith("S p=") == (method == "statistic")
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
