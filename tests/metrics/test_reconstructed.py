"""The outcome of a reconstruction and its metrics."""

import io

import numpy as np
import pytest
from scipy.stats import t

from leakrange.metrics import described, measured
from leakrange.metrics.reconstructed import Nearness
from leakrange.metrics.reconstruction import bits_above_chance, psnr
from leakrange.metrics.risk import Inverses, Moments


@pytest.fixture
def pictures(rng: np.random.Generator) -> np.ndarray:
    return rng.random((60, 12, 11, 1)) ** 2


@pytest.fixture
def inverses(rng: np.random.Generator) -> Inverses:
    return Inverses.of_moments(Moments.of([rng.random((400, 12, 11, 1)) ** 2]))


def test_better_reconstructions_leak_more_by_every_metric(pictures: np.ndarray, inverses: Inverses) -> None:
    noise = np.random.default_rng(1).normal(size=pictures.shape)
    near, far = (
        measured(Nearness.judge(pictures, np.clip(pictures + s * noise, 0, 1), inverses)) for s in (0.05, 1.5)
    )
    names = ["psnr", "ssim", "risk", "risk_median", "risk_conditioned", "risk_conditioned_median"]
    for name in [*names, "bits_recovered"]:
        assert near[name].value > far[name].value, name
    assert near["bits_recovered"].value == pytest.approx(np.log2(60))
    assert next(name for name in near if described(name).role == "leakage") == "psnr"
    assert "bits_capacity" not in near


def test_who_answers_the_mean_is_at_every_chance_level(pictures: np.ndarray, inverses: Inverses) -> None:
    mean = inverses.conditioned.mean.reshape(12, 11, 1)
    found = measured(Nearness.judge(pictures, np.broadcast_to(mean, pictures.shape), inverses, 3.5))
    assert found["psnr"].value == pytest.approx(found["psnr_mean"].value)
    for name in ("risk", "risk_median", "risk_conditioned", "risk_conditioned_median"):
        assert found[name].value == pytest.approx(1.0, rel=1e-5), name
    assert found["bits_recovered"].value == 0.0
    assert found["bits_capacity"].value == 3.5


def test_figures_tell_their_inverse_and_their_interval(pictures: np.ndarray, inverses: Inverses) -> None:
    answered = np.clip(pictures + 0.2, 0, 1)
    found = measured(Nearness.judge(pictures, answered, inverses))
    each = psnr(pictures, answered)
    low, high = t.interval(0.95, 59, loc=each.mean(), scale=each.std(ddof=1) / np.sqrt(60))
    assert (found["psnr"].low, found["psnr"].high) == pytest.approx((low, high))
    for name, inverse in (("risk", inverses.published), ("risk_conditioned", inverses.conditioned)):
        risk = inverse.distances(pictures, answered).risk
        assert found[name].value == pytest.approx(risk.mean(), rel=1e-9)
        assert found[f"{name}_median"].value == pytest.approx(np.median(risk), rel=1e-9)
    assert found["risk_rank"].value == inverses.published.rank
    assert found["risk_tolerance"].value == pytest.approx(132 * 2.0**-23)
    assert found["risk_conditioned_rank"].value == inverses.conditioned.rank
    assert found["risk_conditioned_tolerance"].value == inverses.conditioned.tolerance
    assert "torch" in described("risk").equation
    assert "99 %" in described("risk_conditioned").equation


def test_a_single_victim_has_figures_without_intervals(pictures: np.ndarray, inverses: Inverses) -> None:
    found = measured(Nearness.judge(pictures[:1], pictures[1:2], inverses))
    assert found["psnr"].low is None
    assert found["bits_recovered"].value == 0.0


def test_bits_are_those_of_the_share_of_victims_that_are_identified(
    pictures: np.ndarray, inverses: Inverses
) -> None:
    answered = pictures.copy()
    answered[:15] = pictures[15:30]  # 15 of 60 look like somebody else
    found = measured(Nearness.judge(pictures, answered, inverses))["bits_recovered"]
    assert found.value == pytest.approx(bits_above_chance(0.75, 1 / 60))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_a_picture_of_each_class_tells_at_most_the_class(rng: np.random.Generator) -> None:
    """As of a release that is an argmax; and nearly as much where classes look different."""
    classes = np.arange(400) % 8
    looks = np.zeros((8, 12, 12, 1))
    looks[np.arange(8), 1 + np.arange(8), 5] = 0.8
    pictures = looks[classes] + 0.05 * rng.random((400, 12, 12, 1))
    inverses = Inverses.of_moments(Moments.of([pictures]))
    found = measured(Nearness.judge(pictures, looks[classes], inverses))["bits_recovered"]
    assert 2.3 < found.value <= 3.0


def test_the_mean_of_a_class_is_judged_beside_the_mean_of_all(
    pictures: np.ndarray, inverses: Inverses
) -> None:
    classes = np.arange(60) % 3
    means = np.stack([pictures[classes == each].mean(axis=0) for each in range(3)])
    found = measured(Nearness.judge(pictures, pictures, inverses, of_class=means[classes]))
    error = ((pictures - means[classes]) ** 2).reshape(60, -1).mean(axis=1)
    assert found["psnr_class_mean"].value == pytest.approx(np.mean(-10 * np.log10(error)))
    assert found["psnr_class_mean"].value != pytest.approx(found["psnr_mean"].value, abs=0.05)
    assert described("psnr").floor == "psnr_class_mean"
    assert "psnr_class_mean" not in measured(Nearness.judge(pictures, pictures, inverses))


@pytest.mark.parametrize("capacity", [None, 33.25])
def test_it_travels_in_an_npz(capacity: float | None, pictures: np.ndarray, inverses: Inverses) -> None:
    of_class = None if capacity is None else pictures**2
    made = Nearness.judge(pictures, pictures[::-1], inverses, capacity, of_class)
    file = io.BytesIO()
    np.savez(file, **made.arrays())
    file.seek(0)
    with np.load(file) as arrays:
        read = Nearness.of(arrays)
    assert measured(read) == measured(made)
