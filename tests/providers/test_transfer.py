from __future__ import annotations

import numpy as np
import pytest
import torch

from leakrange.nets import nets
from leakrange.providers.inference import outputs
from leakrange.providers.transfer import fine_tune
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec


def test_a_student_recognises_new_people_and_leaves_its_teacher_alone() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    teacher = nets["residual"].build(SampleSpec.picture(32, 32, 3), 9, 0.25).eval()
    people = rng.integers(0, 256, (5, 32, 32, 3))
    labels = np.repeat(np.arange(5), 16)
    images = np.clip(people[labels] + rng.normal(0, 60, (80, 32, 32, 3)), 0, 255).astype(np.uint8)
    before = {name: tensor.clone() for name, tensor in teacher.state_dict().items()}
    learned = np.arange(80) % 2 == 0

    student = fine_tune(teacher, images[learned], labels[learned], 5)

    found = outputs(student, images[~learned], "logits").argmax(axis=1)
    assert (found == labels[~learned]).mean() >= 0.9  # by chance a fifth
    for name, tensor in teacher.state_dict().items():  # batch-norm statistics among them
        assert torch.equal(tensor, before[name]), name
    given, kept = outputs(student, images, "features"), outputs(teacher, images, "features")
    np.testing.assert_array_equal(given, kept)
    again = fine_tune(teacher, images[learned], labels[learned], 5)
    assert torch.equal(again.head.weight, student.head.weight)


def test_labels_that_do_not_fit_are_refused() -> None:
    teacher = nets["residual"].build(SampleSpec.picture(32, 32, 3), 9, 0.25)
    images = np.zeros((2, 32, 32, 3), dtype=np.uint8)
    with pytest.raises(InvalidInput, match="2 samples and 3 labels"):
        fine_tune(teacher, images, np.array([0, 1, 1]), 2)
    with pytest.raises(InvalidInput, match=r"0\.\.1"):
        fine_tune(teacher, images, np.array([0, 2]), 2)
