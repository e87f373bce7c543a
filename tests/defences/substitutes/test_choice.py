"""Which samples become substitutes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.defences.substitutes.choice import choose
from leakrange.wire.errors import InvalidInput

LABELS = {"speaker": np.repeat([0, 1, 2], [500, 300, 200]), "digit": np.arange(1000) % 5}


@given(st.integers(1, 1200), st.integers(0, 5))
def test_none_is_chosen_twice_and_none_where_they_cannot_be_had(most: int, seed: int) -> None:
    for skew in ({}, {"speaker": [0.1, 0.2, 0.7]}):
        chosen = choose(LABELS, most, skew, seed)
        assert len(chosen) == len(np.unique(chosen)) == min(most, 1000 if not skew else 285)
        assert (np.diff(chosen) > 0).all()
        np.testing.assert_array_equal(chosen, choose(LABELS, most, skew, seed))


@pytest.mark.parametrize("skew", [{}, {"speaker": [0.1, 0.2, 0.7]}], ids=str)
def test_a_seed_draws_its_own(skew: dict[str, list[float]]) -> None:
    one, other = (choose(LABELS, 100, skew, seed) for seed in (0, 1))
    assert len(np.intersect1d(one, other)) < 60


@pytest.mark.parametrize("most", [200, 1000])
def test_classes_have_the_shares_that_are_asked(most: int) -> None:
    shares = {"speaker": [0.1, 0.2, 0.7], "digit": [0.5, 0.2, 0.1, 0.1, 0.1]}
    chosen = choose(LABELS, most, shares, 3)
    if most == 1000:
        assert len(chosen) == 114  # 40 of speaker 2 say 0, which is .35 of all
    for name, wanted in shares.items():
        found = np.bincount(LABELS[name][chosen], minlength=len(wanted)) / len(chosen)
        np.testing.assert_allclose(found, wanted, atol=0.02)


def test_a_share_of_a_class_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no training sample of a class"):
        choose({"digit": np.zeros(50, dtype=np.int64)}, 10, {"digit": [0.5, 0.5]}, 0)
