import numpy as np
import pytest
from scipy.special import softmax

from leakrange.data.samples import Samples
from leakrange.metrics import entropy_bits
from leakrange.providers.inference import outputs
from leakrange.providers.training import TrainedModel
from leakrange.wire.errors import InvalidInput


def test_the_three_releases_of_one_model(trained: dict[str, TrainedModel], images: Samples) -> None:
    classifier = trained["honest"].classifier
    pictures = images.values[:30]
    logits, soft, features = (
        outputs(classifier, pictures, kind) for kind in ("logits", "softmax", "features")
    )
    assert (logits.shape, soft.shape, features.shape) == ((30, 2), (30, 2), (30, 64))
    assert logits.dtype == soft.dtype == features.dtype == np.float32
    np.testing.assert_allclose(soft, softmax(logits, axis=1), atol=1e-6)
    assert (entropy_bits(soft) <= 1.0 + 1e-9).all()


def test_a_sample_is_answered_alike_in_every_batch(trained: dict[str, TrainedModel], images: Samples) -> None:
    classifier = trained["raw"].classifier
    together = outputs(classifier, images.values[:30], "logits")
    for batch in (1, 7):
        apart = outputs(classifier, images.values[:30], "logits", batch=batch)
        np.testing.assert_allclose(apart, together, atol=1e-4)
    assert outputs(classifier, images.values[:0], "logits").shape == (0, 2)


@pytest.mark.parametrize(
    ("pictures", "kind", "message"),
    [
        (np.zeros((2, 16, 16, 3), np.uint8), "score", "no release 'score'"),
        (np.zeros((2, 16, 16, 1), np.uint8), "logits", "expected samples of uint8"),
        (np.zeros((2, 16, 16, 3), np.float32), "logits", "not float32"),
        (np.zeros((16, 16, 3), np.uint8), "logits", "expected samples of uint8"),
    ],
)
def test_what_cannot_be_run_is_refused(
    pictures: np.ndarray, kind: str, message: str, trained: dict[str, TrainedModel]
) -> None:
    with pytest.raises(InvalidInput, match=message):
        outputs(trained["honest"].classifier, pictures, kind)
