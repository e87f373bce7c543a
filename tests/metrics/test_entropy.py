import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as reference

from leakrange.metrics import entropy_bits, entropy_histogram, softmax


def test_the_two_outputs_of_hbc_section_4_2() -> None:
    assert entropy_bits(np.array([[0.95, 0.05], [0.75, 0.25]])) == pytest.approx([0.29, 0.81], abs=0.005)


def test_the_ends_of_the_range() -> None:
    assert entropy_bits(np.array([[1.0, 0.0, 0.0, 0.0], [0.25] * 4])).tolist() == [0.0, 2.0]


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(any), min_size=1, max_size=10))
def test_agrees_with_scipy(rows: list[list[float]]) -> None:
    soft = np.array(rows)
    soft /= soft.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(entropy_bits(soft), reference(soft, base=2, axis=1), atol=1e-12)


def test_float32_outputs_of_a_net_are_taken() -> None:
    soft = np.array([[1 / 3, 1 / 3, 1 / 3]], dtype=np.float32)
    assert entropy_bits(soft) == pytest.approx([np.log2(3)])


@pytest.mark.parametrize("values", [[[2.0, -1.0]], [[0.5, 0.2]], [[np.nan, 1.0]]])
def test_what_is_no_soft_output_is_refused(values: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="soft outputs"):
        entropy_bits(np.array(values))


def test_a_histogram_counts_every_output_once_with_both_ends_in_it() -> None:
    bits = np.array([0.0, 0.01, 0.5, 1.0, 1.0 + 1e-9])
    counts = entropy_histogram(bits, classes=2)
    assert len(counts) == 20
    assert counts.sum() == 5
    assert (counts[0], counts[10], counts[19]) == (2, 1, 2)


def test_several_attributes_add_their_entropies() -> None:
    logits = np.random.default_rng(0).normal(size=(6, 5))
    parts = [softmax(part) for part in np.split(logits, [2], axis=1)]
    soft = softmax(logits, (2, 3))
    np.testing.assert_allclose(soft, np.concatenate(parts, axis=1))
    np.testing.assert_allclose(entropy_bits(soft, (2, 3)), sum(entropy_bits(part) for part in parts))
