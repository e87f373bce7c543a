"""A subset is a pool that all its subsets share, and the members that its own seed draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.data import POOL, POPULATION, fingerprint, load, load_labels
from leakrange.data.splits import draw_canaries
from leakrange.jobs.recipe import DataSpec, Schedule, Subset, TrainingRecipe
from leakrange.wire.errors import InvalidInput

DIGITS = DataSpec(name="digits")


def of(**subset: object) -> DataSpec:
    return DIGITS.model_copy(update={"subset": Subset.model_validate({"pool": 400, **subset})})


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**53), st.integers(0, 2**53), st.floats(0.3, 0.7))
def test_all_subsets_have_one_pool_in_one_order(one: int, two: int, share: float) -> None:
    first, second = load(of(seed=one, share=share)), load(of(seed=two))
    pool = first.where(POOL)
    np.testing.assert_array_equal(pool, second.where(POOL))
    np.testing.assert_array_equal(first.values[pool], second.values[pool])
    assert len(pool) == len(first.members()) == 400
    assert abs(first.members().sum() - share * 400) <= 1
    np.testing.assert_array_equal(
        np.sort(np.concatenate([first.where("train"), first.where("held-out")])), pool
    )
    np.testing.assert_array_equal(pool[first.members()], first.where("train"))
    again = load(of(seed=one, share=share))
    np.testing.assert_array_equal(first.members(), again.members())


def test_nothing_but_the_training_images_changes() -> None:
    whole, cut = load(DIGITS), load(of(seed=5))
    for split in ("validation", "auxiliary", "test"):
        np.testing.assert_array_equal(whole.values[whole.where(split)], cut.values[cut.where(split)])
        for name, labels in whole.labels.items():
            np.testing.assert_array_equal(labels[whole.where(split)], cut.labels[name][cut.where(split)])
    trained = {image.tobytes() for image in whole.values[whole.where("train")]}
    assert {image.tobytes() for image in cut.values[cut.where(POOL)]} <= trained
    assert not whole.where("held-out").size
    assert whole.members().all()
    with pytest.raises(ValueError, match="read-only"):
        cut.split[0] = 0


def test_a_population_is_drawn_from_the_auxiliary_samples_alike_for_all_subsets() -> None:
    one, other = load(of(seed=1)), load(of(seed=2, rest=True))
    drawn = one.where(POPULATION)
    np.testing.assert_array_equal(drawn, other.where(POPULATION))
    np.testing.assert_array_equal(drawn, load_labels(of(seed=1)).where(POPULATION))
    np.testing.assert_array_equal(np.sort(drawn), one.where("auxiliary"))
    # of a sorted set the first of them are no worse a sample than any others
    half = len(drawn) // 2
    assert abs((drawn[:half] < np.median(drawn)).mean() - 0.5) < 0.15
    assert POPULATION not in load(DIGITS).parts


def test_a_pair_shares_the_pool_out() -> None:
    one, other = load(of(seed=7)), load(of(seed=7, rest=True))
    np.testing.assert_array_equal(one.members(), ~other.members())
    assert len({fingerprint(spec) for spec in (DIGITS, of(seed=7), of(seed=7, rest=True), of(seed=8))}) == 4


def test_the_data_seed_draws_the_pool() -> None:
    one, other = load(of()), load(of().model_copy(update={"seed": 1}))
    mine, theirs = ({image.tobytes() for image in found.values[found.where(POOL)]} for found in (one, other))
    assert len(mine & theirs) < 250


def test_a_pool_larger_than_the_training_images_is_refused() -> None:
    with pytest.raises(InvalidInput, match="pool of 5000"):
        load(of(pool=5000))


def test_a_subset_and_a_last_epoch_name_other_models() -> None:
    recipe = TrainingRecipe(data=DIGITS, behaviour="honest", parameters={"target": "parity"})
    named = recipe.model_copy(update={"data": of(seed=1)})
    assert named.digest() != recipe.digest()
    assert TrainingRecipe.model_validate_json(named.model_dump_json()) == named
    last = recipe.model_copy(update={"schedule": Schedule(select="last")})
    assert last.digest() != recipe.digest()
    assert TrainingRecipe.model_validate_json(last.model_dump_json()) == last


def test_canaries_are_the_same_for_all_subsets_and_have_wrong_labels() -> None:
    plain, one, other = load(of()), load(of(canaries=60, seed=1)), load(of(canaries=60, seed=2, rest=True))
    pool = plain.where(POOL)
    np.testing.assert_array_equal(pool, one.where(POOL))
    assert (one.members() != other.members()).any()
    for name in ("digit", "parity"):
        wrong = np.flatnonzero(one.labels[name] != plain.labels[name])
        assert len(wrong) == 60
        assert set(wrong.tolist()) <= set(pool.tolist())
        np.testing.assert_array_equal(one.labels[name], other.labels[name])
        np.testing.assert_array_equal(one.labels[name], load_labels(of(canaries=60, seed=1)).labels[name])
    places = draw_canaries(Subset(pool=400, canaries=60), DIGITS.seed)
    np.testing.assert_array_equal(np.sort(pool[places]), wrong)
    assert len(set((one.labels["digit"] - plain.labels["digit"])[wrong].tolist())) > 5  # to any other class
    np.testing.assert_array_equal(one.values, plain.values)
    assert 140 < one.members().sum() < 260


def test_canaries_that_cannot_be_are_refused_and_name_other_models() -> None:
    for subset in ({"canaries": 401}, {"canaries": 19}, {"canaries": 20, "share": 0.4}):
        with pytest.raises(ValueError, match=r"canaries|20"):
            of(**subset)
    with pytest.raises(ValueError, match="leave out 'share' and 'members'"):
        of(canaries=20, members="used")
    plain = TrainingRecipe(data=of(), behaviour="honest", parameters={"target": "parity"})
    assert "canaries" not in plain.model_dump_json()
    assert plain.model_copy(update={"data": of(canaries=20)}).digest() != plain.digest()
