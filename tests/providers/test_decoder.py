import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy

from leakrange.nets.decoder import AttackNet
from leakrange.providers.decoder import Decoder
from leakrange.providers.decoders.net import NetDecoder
from leakrange.providers.decoders.threshold import ThresholdDecoder
from leakrange.wire.errors import InvalidInput


def net_decoder(release: str) -> NetDecoder:
    torch.manual_seed(0)
    return NetDecoder(AttackNet(3, 2), release)  # type: ignore[arg-type]


@given(arrays(np.float64, (6, 3), elements=st.floats(0.01, 1)))
def test_a_threshold_decodes_as_eq_4(values: np.ndarray) -> None:
    soft = values / values.sum(axis=1, keepdims=True)
    predicted, scores = ThresholdDecoder(tau=0.8, outputs=3).infer(soft, "softmax")
    expected = entropy(soft, axis=1) - 0.8
    decided = np.abs(expected) > 1e-9
    assert (predicted == (expected > 0))[decided].all()
    np.testing.assert_allclose(scores, np.stack([-expected, expected], axis=1), atol=1e-6)


def test_a_threshold_puts_logits_through_softmax() -> None:
    logits = np.array([[4.0, 0.0, 0.0], [0.1, 0.0, 0.0]])
    soft = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    decoder = ThresholdDecoder(0.8, 3)
    np.testing.assert_allclose(
        decoder.infer(logits, "logits")[1], decoder.infer(soft, "softmax")[1], rtol=1e-6
    )


def test_a_one_hot_output_has_no_entropy_to_hide_in() -> None:
    predicted, _ = ThresholdDecoder(0.3, 3).infer(np.eye(3), "softmax")
    assert predicted.tolist() == [0, 0, 0]


def test_soft_outputs_that_noise_moved_off_the_simplex_are_still_decoded() -> None:
    noisy = np.array([[1.2, -0.1, 0.0], [-0.2, -0.1, -0.3], [0.5, 0.5, 0.5]])
    predicted, scores = ThresholdDecoder(0.8, 3).infer(noisy, "softmax")
    assert predicted.tolist() == [0, 1, 1]
    assert np.isfinite(scores).all()


@given(
    st.sampled_from(["logits", "softmax"]), arrays(np.float32, (5, 3), elements=st.floats(-8, 8, width=32))
)
def test_a_net_gives_shares_whose_greatest_is_the_prediction(release: str, values: np.ndarray) -> None:
    for kind in ("logits", "softmax"):
        predicted, scores = net_decoder(release).infer(values, kind)
        assert (predicted.dtype, scores.dtype) == (np.int64, np.float32)
        np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
        assert (predicted == scores.argmax(axis=1)).all()


def test_a_net_that_reads_soft_outputs_puts_logits_through_softmax() -> None:
    logits = np.random.default_rng(0).normal(size=(20, 3))
    soft = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    decoder = net_decoder("softmax")
    np.testing.assert_allclose(
        decoder.infer(logits, "logits")[1], decoder.infer(soft, "softmax")[1], rtol=1e-5
    )


def test_a_net_that_reads_logits_takes_the_logarithm_of_soft_outputs() -> None:
    logits = np.random.default_rng(0).normal(size=(20, 3))
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    decoder = net_decoder("logits")
    np.testing.assert_allclose(
        decoder.infer(np.exp(logits), "softmax")[1], decoder.infer(logits, "logits")[1], rtol=1e-4
    )


def test_a_net_may_read_the_logarithms_of_soft_outputs() -> None:
    logits = np.random.default_rng(0).normal(size=(20, 3)) * 5
    logarithms = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    plain = net_decoder("logits")
    decoder = NetDecoder(plain.net, "softmax", logarithm=True)
    expected = plain.infer(np.maximum(logarithms, np.log(1e-6)), "logits")[1]
    np.testing.assert_allclose(decoder.infer(np.exp(logarithms), "softmax")[1], expected, rtol=1e-4)
    np.testing.assert_allclose(decoder.infer(logits + 7, "logits")[1], expected, rtol=1e-4)
    assert np.isfinite(decoder.infer(np.eye(3), "softmax")[1]).all()  # ln 0


@pytest.mark.parametrize("decoder", [ThresholdDecoder(0.5, 3), net_decoder("logits")])
def test_what_cannot_be_decoded_is_refused(decoder: Decoder) -> None:
    good = np.zeros((2, 3))
    with pytest.raises(InvalidInput, match=r"shape \(samples, 3\)"):
        decoder.infer(np.zeros((2, 4)), "logits")
    with pytest.raises(InvalidInput, match="not finite"):
        decoder.infer(np.full((2, 3), np.nan), "logits")
    with pytest.raises(InvalidInput, match="'features'"):
        decoder.infer(good, "features")
    assert decoder.infer(np.zeros((0, 3)), "softmax")[1].shape == (0, 2)


def test_of_several_attributes_each_head_is_put_through_its_own_softmax() -> None:
    torch.manual_seed(0)
    decoder = NetDecoder(AttackNet(5, 4), "softmax", heads=(2, 3), hidden=(2, 2))
    logits = np.random.default_rng(0).normal(size=(20, 5))
    soft = np.concatenate(
        [np.exp(part) / np.exp(part).sum(axis=1, keepdims=True) for part in (logits[:, :2], logits[:, 2:])],
        axis=1,
    )
    read, scores = decoder.infer(logits, "logits")
    np.testing.assert_allclose(scores, decoder.infer(soft, "softmax").scores, rtol=1e-5)
    assert read.shape == (20, 2)
    np.testing.assert_allclose(scores.reshape(20, 2, 2).sum(axis=2), 1.0, rtol=1e-5)
    assert (read == scores.reshape(20, 2, 2).argmax(axis=2)).all()
