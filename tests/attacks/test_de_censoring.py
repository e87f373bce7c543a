"""De-censoring finds what a release hides in a direction that hardly varies, and no more than there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from leakrange.attacks import Evidence, attacks
from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.attribute import AttributeEvidence, evidence_of
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

VECTOR = SampleSpec(encoding="vector", shape=(6,), dtype="float32")
RECORDS, VICTIMS = 200, 1000


def censored(weak: float, seed: int = 0, share: float = 0.5) -> tuple[Evidence, np.ndarray]:
    """Samples whose first two entries tell u by the sign of their product, and releases that mix all entries,
    these two by so little."""
    rng = np.random.default_rng(seed)
    u = (rng.random(RECORDS + VICTIMS) < share).astype(np.int64)
    samples = rng.normal(size=(len(u), 6)).astype(np.float32)
    samples[:, :2] = rng.choice([-1.0, 1.0], size=(len(u), 2)) + 0.2 * samples[:, :2]
    samples[:, 1] *= np.sign(samples[:, 0] * samples[:, 1]) * (2 * u - 1)
    mixed = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    mixed[:2] *= weak
    releases = (samples @ mixed).astype(np.float32)
    given = Evidence(
        auxiliary=releases[:RECORDS],
        auxiliary_labels=u[:RECORDS],
        observed=releases[RECORDS:],
        classes=2,
        release="features",
        seed=seed,
        samples=samples[:RECORDS],
        spec=VECTOR,
    )
    return given, u[RECORDS:]


def inferred(name: str, given: Evidence, **parameters: object) -> Inference:
    attack = attacks[name]
    found: Inference = attack(attack.Parameters(sensitive="u", **parameters)).infer(given)  # type: ignore[attr-defined]
    return found


def reached(name: str, given: Evidence, truth: np.ndarray, **parameters: object) -> float:
    return float((inferred(name, given, **parameters).predicted == truth).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_what_a_release_hides_from_a_direct_attack_is_found_by_way_of_the_samples(seed: int) -> None:
    given, truth = censored(0.1, seed)
    assert reached("attribute-inference", given, truth) < 0.6
    assert reached("de-censoring", given, truth) > 0.95


def test_a_direction_that_hardly_varies_is_found_among_many() -> None:
    rng = np.random.default_rng(0)
    u = rng.integers(0, 2, 1200)
    samples = rng.normal(size=(1200, 20)).astype(np.float32)
    samples[:, 0] = 2.0 * u - 1.0 + 0.3 * samples[:, 0]
    mixed = rng.normal(size=(20, 20))
    mixed[0] *= 0.05
    releases = (samples @ mixed).astype(np.float32)
    wide = SampleSpec(encoding="vector", shape=(20,), dtype="float32")
    given = Evidence(releases[:200], u[:200], releases[200:], 2, "features", samples=samples[:200], spec=wide)
    assert reached("de-censoring", given, u[200:]) > 0.9


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_what_is_not_in_a_release_nobody_finds(share: float) -> None:
    given, truth = censored(0.0, 3, share)
    assert max(share, 1 - share) - 0.06 < reached("de-censoring", given, truth) < max(share, 1 - share) + 0.05


def test_it_learns_from_the_samples_that_belong_to_the_releases() -> None:
    given, truth = censored(0.1)
    samples = given.samples
    assert samples is not None
    of_others = replace(given, samples=np.roll(samples, 7, axis=0))
    assert reached("de-censoring", of_others, truth) < 0.6


def test_the_seed_decides_and_scores_are_shares() -> None:
    given, _ = censored(0.3)
    first, again = (inferred("de-censoring", given, epochs=4) for _ in range(2))
    np.testing.assert_array_equal(first.scores, again.scores)
    assert (first.predicted.dtype, first.scores.dtype) == (np.int64, np.float32)
    np.testing.assert_allclose(first.scores.sum(axis=1), 1.0, rtol=1e-5)
    other = inferred("de-censoring", replace(given, seed=9), epochs=4)
    assert (other.scores != first.scores).any()


def test_pictures_and_releases_of_any_rank_are_taken() -> None:
    data = load(DataSpec(name="digits"))
    chosen = data.where("auxiliary")[:120]
    pictures = data.values[chosen]
    releases = pictures.astype(np.float32)[:, ::2, ::2]
    given = Evidence(
        releases[:80], data.labels["parity"][chosen[:80]], releases[80:], 2, "features",
        samples=pictures[:80], spec=data.spec,
    )  # fmt: skip
    assert inferred("de-censoring", given, epochs=2).scores.shape == (40, 2)
    named = inferred("de-censoring", given, epochs=2, net={"name": "linear"})
    assert named.scores.shape == (40, 2)


def test_evidence_that_cannot_be_used_is_refused() -> None:
    given, _ = censored(0.3)
    with pytest.raises(InvalidInput, match="samples, not their releases"):
        inferred("de-censoring", replace(given, samples=None))
    with pytest.raises(InvalidInput, match="not finite"):
        inferred("de-censoring", replace(given, auxiliary=given.auxiliary * np.float32(np.inf)))
    with pytest.raises(InvalidInput, match="shape"):
        inferred("de-censoring", replace(given, samples=given.observed[:RECORDS, :4]))
    with pytest.raises(ValidationError):
        attacks["de-censoring"].Parameters(sensitive="u", auxiliary=49)  # type: ignore[call-arg]


def test_the_fleet_gives_it_the_samples_of_the_labelled_records() -> None:
    span = Span(data=DataSpec(name="digits"), split="auxiliary", start=10, stop=70)
    data = load(span.data)
    chosen = data.where("auxiliary")[10:70]
    told = AttributeEvidence(sensitive="parity", span=span, auxiliary=[["a"]], observed=[["b"]])
    stored = {"a": np.zeros((60, 3), np.float32), "b": np.ones((5, 3), np.float32)}
    found = evidence_of(told, FitJob(attack="de-censoring", evidence={}), lambda chunks: stored[chunks[0][0]])
    assert found.samples is not None
    np.testing.assert_array_equal(found.samples, data.values[chosen])
    assert found.spec == data.spec
