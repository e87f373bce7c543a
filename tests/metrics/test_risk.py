"""R of VICIOUS Eq. 6 against SciPy's Mahalanobis distance, and against torch's pseudo-inverse."""

import io

import numpy as np
import pytest
import torch
from scipy.linalg import pinv
from scipy.spatial.distance import mahalanobis

from leakrange.metrics.risk import Inverse, Inverses, Moments


def pictures(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of 6 × 6, smooth by few waves, with a little noise: a covariance that is close to singular."""
    waves = np.cos(np.outer(np.arange(12), np.arange(36)) * 0.13)
    mixed = rng.normal(size=(count, 12)) * 0.5 ** np.arange(12) @ waves
    return np.clip(0.45 + 0.1 * mixed + 1e-5 * rng.normal(size=mixed.shape), 0, 1).reshape(count, 6, 6, 1)


@pytest.fixture
def spread(rng: np.random.Generator) -> Moments:
    found = pictures(rng, 500)
    return Moments.of([found[:123], found[123:124], found[124:]])


def test_the_spread_of_batches_is_that_of_all_samples_at_once(rng: np.random.Generator) -> None:
    values = rng.normal([1e4, 0, -3, 7], size=(300, 4))  # a large common part costs no digits
    found = Moments.of([values[:7], values[7:200], values[200:]])
    np.testing.assert_allclose(found.mean, values.mean(axis=0))
    np.testing.assert_allclose(found.covariance, np.cov(values.T), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("which", ["published", "conditioned"])
def test_the_risk_is_that_of_scipys_distances(which: str, spread: Moments, rng: np.random.Generator) -> None:
    original = pictures(rng, 40)
    reconstructed = original + 0.03 * rng.normal(size=original.shape)
    if which == "published":
        inverse, wide = spread.published(), spread.covariance.astype(np.float32).astype(np.float64)
        theirs = pinv(wide, rtol=36 * 2.0**-23)
    else:
        inverse, wide = spread.conditioned(), spread.covariance
        theirs = pinv(wide, rtol=inverse.tolerance * (1 - 1e-9), atol=0)
    assert 1 < inverse.rank < 36
    ratios = [
        mahalanobis(x, spread.mean, theirs) / mahalanobis(x, y, theirs)
        for x, y in zip(original.reshape(40, -1), reconstructed.reshape(40, -1), strict=True)
    ]
    found = inverse.distances(original, reconstructed)
    np.testing.assert_allclose(found.risk, ratios, rtol=1e-4 if which == "published" else 1e-9)
    assert found.risk.mean() == pytest.approx(np.mean(ratios), rel=1e-4)


def test_the_published_inverse_is_torchs_of_float32(spread: Moments) -> None:
    covariance = torch.tensor(spread.covariance, dtype=torch.float32)
    theirs = torch.linalg.pinv(covariance).double().numpy()
    found = spread.published()
    ours = found.factor.astype(np.float64) @ found.factor.T
    assert found.rank == int(torch.linalg.matrix_rank(covariance))
    # Torch rounds to float32 on its way, which is up to ε/tolerance = 1/36 of the least eigenvalue.
    assert np.linalg.norm(ours - theirs) < 0.02 * np.linalg.norm(theirs)


def test_the_published_inverse_drops_what_torch_drops() -> None:
    least = 4 * 2.0**-23
    covariance = np.diag([1.2 * least, 0.5, 0.8 * least, 1.0])
    kept = torch.linalg.pinv(torch.tensor(covariance, dtype=torch.float32)).diagonal().numpy() > 0
    found = Moments(np.zeros(4), covariance).published()
    assert (np.abs(found.factor).sum(axis=1) > 0).tolist() == kept.tolist() == [True, True, False, True]


def test_the_conditioned_inverse_holds_99_percent_of_the_variance_and_no_component_more(
    spread: Moments,
) -> None:
    held = np.sort(np.linalg.eigvalsh(spread.covariance))[::-1]
    shares = np.cumsum(held) / held.sum()
    found = spread.conditioned()
    assert shares[found.rank - 2] < 0.99 <= shares[found.rank - 1]
    assert found.tolerance == pytest.approx(held[found.rank - 1] / held[0])
    assert found.factor.dtype == np.float64


def test_the_mean_as_a_reconstruction_has_a_risk_of_1(spread: Moments, rng: np.random.Generator) -> None:
    original = pictures(rng, 9)
    answered = np.broadcast_to(spread.mean.reshape(6, 6, 1), original.shape)
    for inverse in (spread.published(), spread.conditioned()):
        assert inverse.distances(original, answered).risk == pytest.approx(np.ones(9), rel=1e-5)


def test_an_exact_reconstruction_counts_as_near_as_rounding_to_8_bits_puts_it(
    spread: Moments, rng: np.random.Generator
) -> None:
    original = pictures(rng, 2000)
    found = spread.conditioned().distances(original, np.rint(original * 255) / 255)
    assert found.floor == pytest.approx(np.sqrt((found.near**2).mean()), rel=0.05)
    exact = spread.conditioned().distances(original, original)
    assert exact.risk == pytest.approx(exact.far / exact.floor)


def test_inverses_travel_in_an_npz(spread: Moments, rng: np.random.Generator) -> None:
    made, file = Inverses.of_moments(spread), io.BytesIO()
    np.savez(file, **made.arrays())
    file.seek(0)
    with np.load(file) as arrays:
        read = Inverses.of(arrays)
    original, other = pictures(rng, 5), pictures(rng, 5)
    for ours, theirs in ((made.published, read.published), (made.conditioned, read.conditioned)):
        assert (ours.rank, ours.tolerance) == (theirs.rank, theirs.tolerance)
        assert (
            ours.distances(original, other).risk.tolist() == theirs.distances(original, other).risk.tolist()
        )


def test_what_has_no_risk_is_refused(spread: Moments) -> None:
    with pytest.raises(ValueError, match="two samples"):
        Moments.of([np.zeros((1, 4))])
    same = Moments.of([np.full((5, 4), 0.25)])
    for inverted in (same.published, same.conditioned):
        with pytest.raises(ValueError, match="all equal"):
            inverted()
    inverse: Inverse = spread.published()
    with pytest.raises(ValueError, match="36 values"):
        inverse.distances(np.zeros((2, 5, 5)), np.zeros((2, 5, 5)))
