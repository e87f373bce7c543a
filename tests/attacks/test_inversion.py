"""Searches among latent points: they find whom answers tell of, and nobody where answers tell nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks.attack import Walk
from leakrange.attacks.inversion.evolution import ScoreInversion
from leakrange.attacks.inversion.generator import Generator, GeneratorSpec, learnt_generator
from leakrange.attacks.inversion.repulsion import LabelInversion
from leakrange.attacks.inversion.search import Inversion, InversionParameters, Start
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics.entropy import softmax
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

SIZE, PEOPLE = 5, 12
HOMES = np.random.default_rng(1).normal(size=(PEOPLE, SIZE))
"""Where the model's people are among latent points."""
SEARCHES: list[type[Inversion]] = [ScoreInversion, LabelInversion]
SPEC = SampleSpec.picture(32, 32, 3)
Answers = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def logits(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return -3.0 * ((points[:, None] - HOMES) ** 2).sum(axis=2)


def scores(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return softmax(logits(points))


def labels(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest person's, or that of nobody, the last, where none is near."""
    far = logits(points).max(axis=1) < -3.0 * 1.8**2
    return np.eye(PEOPLE + 1)[np.where(far, PEOPLE, logits(points).argmax(axis=1))]


def searched(
    search: type[Inversion], answers: Answers, left: int = 3000, first: int = 400, release: str = "softmax"
) -> tuple[Start, NDArray[np.float64], int]:
    """The start, the points that were found, and how many were asked about."""
    draw, asked = np.random.default_rng(2), 0

    def ask(points: NDArray[np.float64]) -> NDArray[np.float32]:
        nonlocal asked
        asked += len(points)
        return answers(points).astype(np.float32)

    points = draw.normal(size=(first, SIZE))
    start = Start(points, answers(points).astype(np.float32), np.array([7, 2, 10, 5]), left, release, draw)
    given = InversionParameters.model_validate({"public": {"name": "synthfaces"}})
    return start, search(given).search(start, ask), asked


def away(points: NDArray[np.float64]) -> float:
    """The mean distance of the points from the homes of those who were wanted."""
    return float(np.linalg.norm(points - HOMES[[7, 2, 10, 5]], axis=1).mean())


@pytest.mark.parametrize(
    ("search", "answers", "release", "near"),
    [
        (ScoreInversion, scores, "softmax", 0.7),
        (ScoreInversion, logits, "logits", 0.7),
        (LabelInversion, labels, "softmax", 1.2),
    ],
)
def test_a_search_comes_nearer_to_whom_it_wants_than_the_best_of_its_first_points(
    search: type[Inversion], answers: Answers, release: str, near: float
) -> None:
    start, points, asked = searched(search, answers, release=release)
    assert away(points) < near
    chosen = [start.points[(start.answers.argmax(axis=1) == each).argmax()] for each in start.wanted]
    assert away(points) < away(np.array(chosen)) - 0.3
    assert 2700 < asked <= 3000


@pytest.mark.parametrize("search", SEARCHES)
def test_answers_that_tell_nothing_lead_nowhere(search: type[Inversion]) -> None:
    chance = np.random.default_rng(3)
    _, points, _ = searched(search, lambda points: chance.dirichlet(np.ones(PEOPLE), size=len(points)))
    assert away(points) > away(np.zeros(SIZE)) - 0.2


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("left", [0, 30, 101, 999])
def test_no_search_asks_more_than_it_may(search: type[Inversion], left: int) -> None:
    _, points, asked = searched(search, labels, left=left)
    assert asked <= left
    assert points.shape == (4, SIZE)
    assert np.isfinite(points).all()


def test_labels_are_walked_as_the_paper_says_point_by_point() -> None:
    """BREP-MI written down for one person: points outside push, a sphere without any grows."""
    draw = np.random.default_rng(8)
    begun = HOMES[2] + 0.2
    inside = lambda points: np.linalg.norm(np.atleast_2d(points) - HOMES[2], axis=1) < 2.5  # noqa: E731

    def ask(points: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.eye(3, dtype=np.float32)[np.where(inside(points), 2, 0)]

    start = Start(begun[None], ask(begun[None]), np.array([2]), 17 * 30, "softmax", np.random.default_rng(8))
    [reached] = LabelInversion(_parameters()).search(start, ask)
    point, radius = begun, 2.0
    for _ in range(30):
        ways = draw.normal(size=(16, SIZE))
        ways = [way / np.sqrt((way**2).sum()) for way in ways]
        wrong = [not inside(point + radius * way)[0] for way in ways]
        radius = radius if any(wrong) else radius * 1.3
        push = sum((-way for way, out in zip(ways, wrong, strict=True) if out), np.zeros(SIZE)) / 16
        moved = np.array([min(max(each, -3.0), 3.0) for each in point + min(radius / 3, 3.0) * push])
        point = moved if inside(moved)[0] else point
    np.testing.assert_allclose(reached, point, atol=1e-9)
    assert np.linalg.norm(reached - begun) > 0.05


def test_a_person_whom_no_random_picture_was_taken_for_costs_nothing_more() -> None:
    others = lambda points: np.eye(PEOPLE)[np.zeros(len(points), int)]  # noqa: E731
    start, points, asked = searched(LabelInversion, others)
    assert asked == 0
    np.testing.assert_array_equal(points, np.repeat(start.points[:1], 4, axis=0))


def _parameters(**given: Any) -> InversionParameters:
    return InversionParameters.model_validate({"public": {"name": "synthfaces"}} | given)


@pytest.fixture(scope="module")
def faces() -> NDArray[Any]:
    return load(DataSpec(name="synthfaces", size=32, count=240, seed=5)).values


@pytest.fixture(scope="module")
def weights(faces: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return learnt_generator(faces, SPEC, GeneratorSpec(point=SIZE, epochs=4))


def test_a_generator_draws_faces(faces: NDArray[Any], weights: dict[str, NDArray[Any]]) -> None:
    drawn = Generator(SPEC, SIZE, weights).draw(np.random.default_rng(0).normal(size=(30, SIZE)))
    assert drawn.dtype == np.uint8
    assert drawn.shape == (30, 32, 32, 3)
    assert len(np.unique(drawn, axis=0)) == 30
    mean = faces.astype(float).mean(axis=0)
    errors = np.abs(drawn - mean).mean(axis=(1, 2, 3))
    assert errors.mean() < np.abs(faces - mean).mean()
    np.testing.assert_equal(weights, learnt_generator(faces, SPEC, GeneratorSpec(point=SIZE, epochs=4)))


def test_too_few_pictures_and_foreign_weights_are_refused(
    faces: NDArray[Any], weights: dict[str, NDArray[Any]]
) -> None:
    with pytest.raises(InvalidInput, match="100 pictures or more, not from 99"):
        learnt_generator(faces[:99], SPEC, GeneratorSpec())
    with pytest.raises(InvalidInput, match="no weights of such a generator"):
        Generator(SPEC, SIZE + 1, weights)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_walk_draws_people_at_random_within_its_budget(
    search: type[Inversion], faces: NDArray[Any], weights: dict[str, NDArray[Any]]
) -> None:
    kept: list[str] = []

    def once(name: str, _: object) -> dict[str, NDArray[Any]]:
        kept.append(name)
        return weights

    def brightness(pictures: NDArray[Any]) -> NDArray[np.float32]:
        assert pictures.dtype == np.uint8
        levels = pictures.mean(axis=(1, 2, 3))[:, None] - np.linspace(60, 200, 6)
        return softmax(-np.abs(levels) / 9).astype(np.float32)

    def walked(seed: int) -> dict[str, NDArray[Any]]:
        start = Walk(faces, None, SPEC, "softmax", 500, seed, once)
        return search(_parameters(people=3, generator={"point": SIZE})).walk(start, brightness)

    first, again, other = walked(0), walked(0), walked(4)
    np.testing.assert_equal(first, again)
    assert len(set(kept)) == 1
    assert first["wanted"].tolist() != other["wanted"].tolist()
    assert len(set(first["wanted"].tolist())) == 3
    assert first["pictures"].shape == first["unasked"].shape == (3, 32, 32, 3)
    assert 400 < first["asked"].sum() <= 500
    with pytest.raises(InvalidInput, match="no scores of people"):
        search(_parameters(generator={"point": SIZE})).walk(
            Walk(faces, None, SPEC, "score", 50, 0, once), lambda samples: np.zeros((len(samples), 1))
        )
