"""Drawn faces: the same bytes everywhere, independent attributes, recognisable, and not by colour alone."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leakrange.data import Samples, load
from leakrange.data.faces.portrait import draw
from leakrange.data.faces.shapes import Canvas
from leakrange.data.faces.traits import FACE_ATTRIBUTES, IDENTITIES, sample
from leakrange.jobs.recipe import DataSpec

FIXED = ("hair", "skin", "facial-hair")
VARYING = ("age", "smile", "glasses")


@pytest.fixture(scope="module")
def faces() -> Samples:
    return load(DataSpec(name="synthfaces", size=32, count=3000))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (24, "5e0aa50b957d9998364e24d9603c351da270e5241381aae96057a384bd4e82de"),
        (64, "181243f64f54c63555b701e474e25be1426b091b0830a36d54bd9c85c062a30b"),
    ],
)
def test_same_bytes_on_every_machine(size: int, expected: str) -> None:
    # Recorded once; a change to the drawing changes it, and with it every model trained on faces.
    assert load(DataSpec(name="synthfaces", size=size, count=60, seed=7)).fingerprint == expected


def test_seed_decides_people_and_pictures_and_size_neither() -> None:
    (one, labels_one), (two, labels_two) = sample(200, 0), sample(200, 1)
    assert (one.skin != two.skin).any()
    assert (labels_one["smile"] != labels_two["smile"]).any()
    small, large = (load(DataSpec(name="synthfaces", size=size, count=200)) for size in (32, 64))
    for name, values in small.labels.items():
        assert (values == large.labels[name]).all()
    halved = large.values.reshape(200, 32, 2, 32, 2, 3).mean(axis=(2, 4))
    likeness = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(halved, small.values, strict=True)]
    # The grain differs, the face does not.
    assert min(likeness) > 0.8


def test_people_keep_their_features() -> None:
    _, labels = sample(4000, 0)
    count = np.bincount(labels["identity"], minlength=IDENTITIES)
    assert count.max() - count.min() <= 1
    for person in range(IDENTITIES):
        own = labels["identity"] == person
        for name in FIXED:
            assert len(set(labels[name][own])) == 1
    for name in VARYING:
        alike = [len(set(labels[name][labels["identity"] == person])) == 1 for person in range(IDENTITIES)]
        assert np.mean(alike) < 0.05
    assert (labels["skin-2"] == (labels["skin"] >= 2)).all()


def test_people_are_a_balanced_design() -> None:
    _, labels = sample(IDENTITIES, 0)
    combinations = np.stack([labels[name] for name in FIXED])
    _, count = np.unique(combinations, axis=1, return_counts=True)
    assert count.tolist() == [IDENTITIES // 32] * 32


@pytest.mark.parametrize("pair", list(itertools.combinations((*FIXED, *VARYING), 2)), ids="-".join)
def test_attributes_are_independent(pair: tuple[str, str]) -> None:
    _, labels = sample(20_000, 3)
    a, b = (labels[name] for name in pair)
    table = np.zeros((len(FACE_ATTRIBUTES[pair[0]].classes), len(FACE_ATTRIBUTES[pair[1]].classes)))
    np.add.at(table, (a, b), 1)
    _, p, freedom, _ = chi2_contingency(table)
    assert p > 1e-4
    # In bits: the mutual information that chance alone gives is about freedom / (2 n ln 2).
    share = table / table.sum()
    expected = share.sum(1, keepdims=True) * share.sum(0, keepdims=True)
    information = (share * np.log2(share / expected)).sum()
    assert information < chi2.ppf(1 - 1e-4, freedom) / (2 * len(a) * np.log(2)) * 1.1


def test_classes_are_balanced() -> None:
    _, labels = sample(20_000, 5)
    for name in (*FIXED, *VARYING, "skin-2"):
        classes = len(FACE_ATTRIBUTES[name].classes)
        share = np.bincount(labels[name], minlength=classes) / 20_000
        assert np.abs(share - 1 / classes).max() < 0.02


def accuracy(model: object, x: NDArray[np.float64], y: NDArray[np.int64], faces: Samples) -> float:
    fit, test = np.flatnonzero(faces.split != 3), faces.where("test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few epochs are enough for what is claimed
        model.fit(x[fit], y[fit])  # type: ignore[attr-defined]
    return float(model.score(x[test], y[test]))  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def components(faces: Samples) -> NDArray[np.float64]:
    pixels = faces.values.reshape(len(faces), -1) / 255.0
    return np.asarray(PCA(120, whiten=True, random_state=0, svd_solver="randomized").fit_transform(pixels))


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("age", 0.6),
        ("hair", 0.9),
        ("skin", 0.75),
        ("skin-2", 0.93),
        ("smile", 0.8),
        ("glasses", 0.75),
        ("facial-hair", 0.75),
    ],
)
def test_a_small_network_recognises_what_the_mean_colour_does_not(
    faces: Samples, components: NDArray[np.float64], name: str, least: float
) -> None:
    y = faces.labels[name]
    network = MLPClassifier((64,), max_iter=25, random_state=0)
    reached = accuracy(network, components, y, faces)
    assert reached > least
    colour = faces.values.mean(axis=(1, 2))
    by_colour = accuracy(make_pipeline(StandardScaler(), LogisticRegression()), colour, y, faces)
    assert by_colour < reached - 0.2


def test_painting_in_windows_cuts_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    traits, _ = sample(1500, 11)
    windowed = draw(traits, 40, 11)
    monkeypatch.setattr(Canvas, "window", lambda self, *_: self)
    assert (windowed == draw(traits, 40, 11)).all()


def test_pictures_differ_in_light_and_background(faces: Samples) -> None:
    corner = faces.values[:, :3, :3].reshape(len(faces), -1).mean(axis=1)
    assert corner.std() > 30
    # No two pictures are near-copies, so each is a group of its own.
    assert len(np.unique(faces.group)) == len(faces)
    tiny = faces.values.reshape(len(faces), 8, 4, 8, 4, 3).mean(axis=(2, 4)).reshape(len(faces), -1)
    tiny = tiny - tiny.mean(axis=1, keepdims=True)
    tiny /= np.linalg.norm(tiny, axis=1, keepdims=True)
    likeness = tiny @ tiny.T
    np.fill_diagonal(likeness, 0)
    assert likeness.max() < 0.99
