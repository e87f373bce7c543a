"""Attacks on substitutes find what was sent, see through noise as far as theory lets them, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks import attacks, substitutes
from leakrange.attacks.substitutes import SubstituteAttack, SubstituteEvidence, nearest_records
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput

NEAR = ("substitute-distance", "substitute-margin")
NAMES = (*NEAR, "substitute-correlation")
MEMBERS = np.arange(200) < 50


def records(seed: int = 0) -> np.ndarray:
    """Of which some lie in the middle, near to everything."""
    rng = np.random.default_rng(seed)
    return np.asarray(3.0 + rng.normal(size=(200, 40)) * rng.uniform(0.3, 2.0, (200, 1)), dtype=np.float32)


def uploads(noise: float = 0.0, among: np.ndarray | None = None) -> np.ndarray:
    """Six hundred draws of the members' records, or of others."""
    rng = np.random.default_rng(1)
    drawn = (records()[MEMBERS] if among is None else among)[rng.integers(0, 50, 600)]
    return np.asarray(drawn + noise * rng.normal(size=drawn.shape), dtype=np.float32)


def scores(name: str, observed: np.ndarray) -> np.ndarray:
    entry = attacks[name]
    assert issubclass(entry, SubstituteAttack)
    return entry().score(SubstituteEvidence(observed, records()))


def area(name: str, observed: np.ndarray) -> float:
    return auc(scores(name, observed), MEMBERS)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_sent_itself_is_found_and_what_comes_from_elsewhere_tells_nothing(name: str) -> None:
    assert area(name, uploads()) > (0.99 if name in NEAR else 0.8)
    assert 0.4 < area(name, uploads(among=records(seed=7))) < 0.6


@pytest.mark.parametrize("block", [7, 256])
def test_scores_are_those_of_their_equations(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substitutes, "BLOCK", block)
    observed, known = uploads(noise=0.5)[:30].astype(np.float64), records().astype(np.float64)
    squared = ((observed[:, None] - known[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        scores("substitute-distance", observed), -np.sqrt(squared.min(axis=0)), rtol=1e-9
    )
    others = [np.delete(squared, place, axis=1).min(axis=1) for place in range(200)]
    margins = [(least - squared[:, place]).max() for place, least in enumerate(others)]
    np.testing.assert_allclose(scores("substitute-margin", observed), margins, rtol=1e-9, atol=1e-9)
    nearest, first, second = nearest_records(SubstituteEvidence(observed, known))
    np.testing.assert_array_equal(nearest, squared.argmin(axis=1))
    np.testing.assert_allclose(np.stack([first, second]), np.sort(squared, axis=1)[:, :2].T, rtol=1e-9)


def test_without_noise_records_that_were_not_sent_are_ranked_by_their_distance() -> None:
    observed = uploads()[:20]
    far, margin = (scores(name, observed) for name in NEAR)
    unseen = margin < 0
    assert unseen.sum() > 150
    np.testing.assert_allclose(margin[unseen], -(far[unseen] ** 2), rtol=1e-6)


def test_noise_hides_substitutes_from_who_looks_at_distances_and_not_from_who_compares_them() -> None:
    noisy = uploads(noise=2.0)
    assert area("substitute-distance", noisy) < 0.7
    assert area("substitute-margin", noisy) > 0.9


def test_the_correlation_is_that_with_the_inverse_covariance() -> None:
    observed, known = uploads()[:9].astype(np.float64), records().astype(np.float64)
    covariance = np.cov(known.T)
    inverse = np.linalg.inv(covariance + 0.01 * np.trace(covariance) / 40 * np.eye(40))
    about = known.mean(axis=0)
    expected = ((observed - about) @ inverse @ (known - about).T).max(axis=0)
    np.testing.assert_allclose(scores("substitute-correlation", observed), expected, rtol=1e-6)


def test_a_mixture_hides_its_records_from_who_looks_at_distances_and_not_at_what_they_have_in_common() -> (
    None
):
    """Populations vary more along some directions than along others."""
    rng = np.random.default_rng(3)
    known = (rng.normal(size=(600, 80)) * np.geomspace(10.0, 0.1, 80)).astype(np.float32)
    members = np.arange(600) < 200
    mixed = known[:200].reshape(50, 4, 80).mean(axis=1)[rng.integers(0, 50, 300)]
    found = {name: auc(attacks[name]().score(SubstituteEvidence(mixed, known)), members) for name in NAMES}
    assert found["substitute-correlation"] > 0.9
    assert max(found[name] for name in NEAR) < 0.75


def test_what_cannot_be_compared_is_refused() -> None:
    known, observed = records(), uploads()
    broken = observed.copy()
    broken[3, 1] = np.nan
    for given in (observed[:0], observed[:, :9], broken):
        for name in NAMES:
            with pytest.raises(InvalidInput):
                scores(name, given)
    with pytest.raises(InvalidInput, match="two records"):
        attacks["substitute-margin"]().score(SubstituteEvidence(observed, known[:1]))
