"""Reading both attributes from a mixture, and one from an output that stands for two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leakrange.providers.decoders.argmax import ArgmaxDecoder
from leakrange.providers.decoders.vertex import VertexDecoder
from leakrange.wire.errors import InvalidInput


def vertices(outputs: int, classes: int, beta_s: float) -> np.ndarray:
    """(Y, S, Y)."""
    return (1 - beta_s) * np.eye(outputs)[:, None, :] + beta_s * np.eye(outputs)[None, :classes, :]


@given(st.data())
def test_the_nearest_vertex_is_found(data: st.DataObject) -> None:
    outputs = data.draw(st.integers(2, 6))
    classes = data.draw(st.integers(2, outputs))
    beta_s = data.draw(st.floats(0.01, 0.49))
    released = data.draw(arrays(np.float64, (8, outputs), elements=st.floats(-1, 2)))
    decoder = VertexDecoder(outputs, classes, beta_s)
    distance = ((released[:, None, None, :] - vertices(outputs, classes, beta_s)) ** 2).sum(axis=3)
    y, s = decoder.both(released, "softmax")
    np.testing.assert_allclose(distance[np.arange(8), y, s], distance.min(axis=(1, 2)), atol=1e-9)
    inferred, scores = decoder.infer(released, "softmax")
    assert (inferred == s).all()
    np.testing.assert_allclose(scores, -distance.min(axis=1), atol=1e-5)
    assert (scores.dtype, scores.shape) == (np.float32, (8, classes))


@pytest.mark.parametrize(("outputs", "classes"), [(2, 2), (5, 3), (4, 4)])
def test_every_vertex_says_what_it_was_made_of(outputs: int, classes: int) -> None:
    released = vertices(outputs, classes, 0.2).reshape(-1, outputs)
    y, s = VertexDecoder(outputs, classes, 0.2).both(released, "softmax")
    assert y.tolist() == np.repeat(np.arange(outputs), classes).tolist()
    assert s.tolist() == list(range(classes)) * outputs
    assert (
        VertexDecoder(outputs, classes, 0.2).both(np.log(released + 1e-12), "logits")[1].tolist()
        == s.tolist()
    )


def test_two_classes_are_cut_at_the_thresholds_of_fig_4() -> None:
    """β = (.8, .2): the sub-ranges of Eq. 2 with τ' = .1, and (y, s) = (0,0), (0,1), (1,0), (1,1) in them."""
    tau = 0.1
    second = np.linspace(0, 1, 1001)
    second = second[np.abs(second[:, None] - [tau, 0.5, 1 - tau]).min(axis=1) > 1e-6]
    y, s = VertexDecoder(2, 2, 0.2).both(np.stack([1 - second, second], axis=1), "softmax")
    part = np.searchsorted([tau, 0.5, 1 - tau], second)
    assert (2 * y + s == part).all()


def test_a_label_alone_tells_nothing_beside_y() -> None:
    _, s = VertexDecoder(3, 3, 0.2).both(np.eye(3), "softmax")
    assert s.tolist() == [0, 1, 2]  # the label itself, which is independent of s


@given(arrays(np.float32, (5, 3), elements=st.floats(-8, 8, width=32)))
def test_the_greatest_output_is_read_as_s(values: np.ndarray) -> None:
    soft = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    for kind, released in (("logits", values), ("softmax", soft)):
        predicted, scores = ArgmaxDecoder(3).infer(released, kind)
        np.testing.assert_allclose(scores, soft, rtol=1e-4, atol=1e-7)
        assert (predicted == scores.argmax(axis=1)).all()


@pytest.mark.parametrize("decoder", [VertexDecoder(3, 2, 0.2), ArgmaxDecoder(3)])
def test_what_cannot_be_decoded_is_refused(decoder: VertexDecoder | ArgmaxDecoder) -> None:
    with pytest.raises(InvalidInput, match=r"shape \(samples, 3\)"):
        decoder.infer(np.zeros((2, 4)), "logits")
    with pytest.raises(InvalidInput, match="not finite"):
        decoder.infer(np.full((2, 3), np.nan), "logits")
    with pytest.raises(InvalidInput, match="'features'"):
        decoder.infer(np.zeros((2, 3)), "features")
    assert decoder.infer(np.zeros((0, 3)), "softmax")[1].shape == (0, decoder.classes)
