"""The curiosity audit finds what a curious model hides, and nothing where the target tells the attribute."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.audit.curiosity import Curiosity, curiosity
from leakrange.data.samples import Samples
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs
from leakrange.wire.errors import InvalidInput


def examined(model: Classifier, images: Samples, attribute: str = "shoe") -> Curiosity:
    own, tested = images.where("auxiliary"), images.where("test")
    logits = [outputs(model, images.values[part], "logits") for part in (own, tested)]
    first, second = (values.argmax(axis=1) for values in logits)
    return curiosity(
        logits[0],
        images.labels[attribute][own],
        logits[1],
        images.labels[attribute][tested],
        classes=2,
        decisions=(first, second),
        release="logits",
        seed=0,
    )


def test_a_curious_model_is_found_out(curious: Classifier, images: Samples) -> None:
    found = examined(curious, images)
    assert found.accuracy > 0.9
    assert found.interval[0] > found.baseline
    share = images.labels["shoe"][images.where("test")].mean()
    assert found.majority == pytest.approx(max(share, 1 - share))
    assert (found.labelled, found.tested) == (80, 120)


def test_what_the_target_tells_is_no_curiosity(honest: Classifier, images: Samples) -> None:
    # ``mood`` is ``hat`` with a fifth of its labels turned over.
    found = examined(honest, images, "mood")
    assert found.baseline > found.majority + 0.1
    assert found.interval[0] <= found.baseline


def test_what_decisions_alone_tell_is_learned_from_the_labelled_samples() -> None:
    """Most yes-sayers have it among the labelled, and most no-sayers among the tested."""
    has, labelled = np.repeat([1, 1, 1, 0, 0, 0], 5), np.repeat([1, 1, 1, 1, 0, 0], 5)
    truth, tested = np.array([1, 0, 0, 1, 1, 0]), np.array([1, 1, 1, 0, 0, 0])
    drawn = np.random.default_rng(0).normal(size=(36, 2)).astype(np.float32)

    def baseline(truth: np.ndarray) -> float:
        return curiosity(
            drawn[:30],
            has,
            drawn[30:],
            truth,
            classes=2,
            decisions=(labelled, tested),
            release="logits",
            seed=0,
        ).baseline

    assert baseline(truth) == 0.5  # two of six are right, so that it is the majority
    assert baseline(tested) == 1.0


def test_without_samples_there_is_no_audit() -> None:
    few = np.zeros((5, 2), dtype=np.float32)
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(InvalidInput, match="test on"):
        curiosity(
            few,
            np.zeros(5, dtype=np.int64),
            few[:0],
            none,
            classes=2,
            decisions=(np.zeros(5, dtype=np.int64), none),
            release="logits",
            seed=0,
        )
