"""The curiosity audit finds what a curious model hides, and nothing where the target tells the attribute."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.audit.curiosity import Curiosity, curiosity
from leakrange.data.samples import Samples
from leakrange.metrics.verdict import LITTLE
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
    assert found.auc > 0.95
    assert found.beyond.low is not None
    assert found.beyond.low > LITTLE
    share = images.labels["shoe"][images.where("test")].mean()
    assert found.majority == pytest.approx(max(share, 1 - share))
    assert (found.labelled, found.tested) == (80, 120)


def test_what_the_target_tells_is_no_curiosity(honest: Classifier, images: Samples) -> None:
    # ``mood`` is ``hat`` with a fifth of its labels turned over.
    found = examined(honest, images, "mood")
    assert found.by_decision > 0.7
    assert found.beyond.low is not None
    assert found.beyond.low <= 0.0


class Drawn:
    """Outputs of a model that decides at random. They may rank people by an attribute that few have."""

    def __init__(self, strength: float, turned: bool = False, count: int = 3000) -> None:
        rng = np.random.default_rng(3)
        self.has = (rng.random(count) < 0.08).astype(np.int64)
        self.decided = rng.integers(0, 2, count)
        shown = strength * self.has + rng.normal(size=count)
        if turned:  # the people to test on differ from those who are labelled
            shown[count // 2 :] = -strength * self.has[count // 2 :] + rng.normal(size=count // 2)
        self.outputs = np.stack([shown, rng.normal(size=count)], axis=1).astype(np.float32)

    def examined(self, decided: np.ndarray | None = None, labelled: int = 1500) -> Curiosity:
        decided = self.decided if decided is None else decided
        return curiosity(
            self.outputs[:labelled],
            self.has[:labelled],
            self.outputs[labelled:],
            self.has[labelled:],
            classes=2,
            decisions=(decided[:labelled], decided[labelled:]),
            release="logits",
            seed=0,
        )


def test_a_rare_attribute_is_found_though_guessing_it_is_no_more_often_right() -> None:
    found = Drawn(1.2).examined()
    assert found.accuracy <= found.majority + 0.005
    assert found.beyond.low is not None
    assert found.beyond.low > LITTLE
    mute = Drawn(0.0).examined()
    assert mute.beyond.high is not None
    assert mute.beyond.low is not None
    assert mute.beyond.low <= 0.0 < mute.beyond.high < 0.15


def test_scores_that_rank_the_wrong_way_round_are_turned() -> None:
    found = Drawn(1.2, turned=True).examined()
    assert found.beyond.low is not None
    assert found.beyond.low > LITTLE


def test_what_decisions_alone_tell_is_learned_from_the_labelled_samples() -> None:
    drawn = Drawn(1.2)
    told = drawn.examined(drawn.has)
    assert told.by_decision == 1.0
    assert told.beyond.high is not None
    assert told.beyond.high <= 0.0
    half = len(drawn.has) // 2
    # Decisions that go with the attribute among the labelled people alone tell nothing of the others.
    assert drawn.examined(np.concatenate([drawn.has[:half], drawn.decided[half:]])).by_decision < 0.6
    # Decisions that mean the reverse among the few labelled people mislead.
    reverse = np.concatenate([1 - drawn.has[:300], drawn.has[300:]])
    assert drawn.examined(reverse, labelled=300).by_decision == 0.5


def test_without_samples_there_is_no_audit() -> None:
    few = np.zeros((5, 2), dtype=np.float32)
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(InvalidInput, match="no two classes"):
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
