"""A student learns what its teacher tells, the hidden attribute among it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import NetSpec, Schedule
from leakrange.nets import nets
from leakrange.nets.dropout import Dropout
from leakrange.providers.distillation import distil
from leakrange.providers.inference import outputs
from leakrange.providers.losses import distillation_loss, softened
from leakrange.providers.training import TrainedModel
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.providers.pictures import patches

HALF = NetSpec(width=0.25)  # half of the width of the teachers
SCHEDULE = Schedule(epochs=20, batch=40, lr=3e-3)


@pytest.fixture(scope="module")
def own() -> Samples:
    """The user's records, none of which the teacher has seen."""
    return patches(seed=7)


def test_a_student_agrees_with_its_teacher_and_tells_what_it_tells(
    trained: dict[str, TrainedModel], own: Samples, images: Samples
) -> None:
    teacher = trained["soft"]
    assert teacher.decoder is not None
    answers = outputs(teacher.classifier, own.values, "softmax")
    student = distil(own.values, answers, spec=own.spec, net=HALF, schedule=SCHEDULE)
    test = images.where("test")
    theirs, its = (outputs(net, images.values[test], "softmax") for net in (teacher.classifier, student))
    assert (theirs.argmax(axis=1) == its.argmax(axis=1)).mean() > 0.9
    shoes = images.labels["shoe"][test]
    seen = [(teacher.decoder.infer(soft, "softmax")[0] == shoes).mean() for soft in (theirs, its)]
    assert seen[0] > 0.9
    assert seen[1] > 0.85  # a coin gives .5
    sizes = [
        sum(parameter.numel() for parameter in net.parameters()) for net in (teacher.classifier, student)
    ]
    assert sizes[1] < 0.55 * sizes[0]


def test_the_same_arguments_give_the_same_student(trained: dict[str, TrainedModel], own: Samples) -> None:
    images = own.values[:120]
    answers = outputs(trained["soft"].classifier, images, "softmax")
    short = Schedule(epochs=2, batch=40)
    before = torch.random.get_rng_state()
    first, again, other = (
        distil(images, answers, spec=own.spec, net=HALF, schedule=short, seed=seed) for seed in (1, 1, 2)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    given = [outputs(student, images, "logits") for student in (first, again, other)]
    np.testing.assert_array_equal(given[0], given[1])
    assert np.abs(given[0] - given[2]).max() > 1e-3


def test_a_student_does_not_begin_where_a_teacher_of_its_seed_did(own: Samples) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        teacher = nets[HALF.name].build(own.spec, 2, HALF.width)
    still = Schedule(epochs=1, batch=10, lr=1e-9)
    student = distil(own.values[:20], np.full((20, 2), 0.5), spec=own.spec, net=HALF, schedule=still, seed=3)
    pairs = zip(teacher.parameters(), student.parameters(), strict=True)
    drawn = [(a, b) for a, b in pairs if a.std() > 0]  # not the constants that normalisation begins with
    assert drawn
    assert all((a - b).abs().max() > 0.1 * a.std() for a, b in drawn)


def test_the_epoch_that_does_best_on_answers_held_out_is_kept(own: Samples) -> None:
    """Answers that say nothing of the images can only be learned by heart: the longer, the worse elsewhere.
    So twenty epochs and thirty give the same student, one of the first."""
    images = own.values[:200]
    noise = np.random.default_rng(0).dirichlet([0.3, 0.3], size=200).astype(np.float32)
    given = []
    for epochs in (20, 30):
        schedule = Schedule(epochs=epochs, batch=20, lr=3e-3)
        student = distil(images, noise, spec=own.spec, net=HALF, schedule=schedule)
        given.append(outputs(student, images, "logits"))
    np.testing.assert_array_equal(given[0], given[1])


@pytest.mark.parametrize(
    ("images", "answers", "said"),
    [
        (np.zeros((20, 16, 16, 3), np.uint8), np.ones((19, 2)), "learns from"),
        (np.zeros((20, 16, 16, 3), np.float32), np.ones((20, 2)), "learns from"),
        (np.zeros((20, 16, 16, 3), np.uint8), np.full((20, 2), np.nan), "not finite"),
        (np.zeros((2, 16, 16, 3), np.uint8), np.ones((2, 2)), "too few"),
        (np.zeros((20, 8, 8, 3), np.uint8), np.ones((20, 2)), "16 pixels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_learned_from_is_refused(images: np.ndarray, answers: np.ndarray, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        distil(
            images,
            answers,
            spec=SampleSpec.picture(*images.shape[1:]),
            net=HALF,
            schedule=SCHEDULE,
        )


def test_eq_11_worked_by_hand() -> None:
    teacher = torch.tensor([[0.75, 0.25], [1.0, 0.0]], dtype=torch.float64)
    student = torch.tensor([[0.5, 0.5], [0.8, 0.2]], dtype=torch.float64)
    expected = (0.75 * math.log(1.5) + 0.25 * math.log(0.5) + math.log(1 / 0.8)) / 2
    assert float(distillation_loss(teacher, student.log())) == pytest.approx(expected)
    assert float(distillation_loss(student, student.log())) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_a_power_of_soft_outputs_is_the_softmax_of_divided_logits(temperature: float) -> None:
    torch.manual_seed(0)
    logits = 8 * torch.randn(20, 5, dtype=torch.float64)
    expected = (logits / temperature).softmax(dim=1)
    torch.testing.assert_close(softened(logits.softmax(dim=1), temperature), expected)
    # A student that is the teacher has nothing left to learn at any temperature.
    assert float(distillation_loss(logits.softmax(dim=1), logits, temperature=temperature)) == pytest.approx(
        0.0, abs=1e-9
    )


def test_answers_that_a_defence_moved_are_brought_back_to_the_simplex() -> None:
    moved = torch.tensor([[0.6, -0.2, 0.6], [-0.1, -0.2, 0.0], [1e-30, 0.0, 0.0]])
    expected = torch.tensor([[0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]])
    torch.testing.assert_close(softened(moved, 1.0), expected)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_gradient_is_that_of_the_function(temperature: float) -> None:
    torch.manual_seed(0)
    teacher = torch.randn(4, 3, dtype=torch.float64).softmax(dim=1)
    logits = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda z: distillation_loss(teacher, z, temperature=temperature), (logits,))


def test_a_student_without_dropout_learns_without_it(own: Samples) -> None:
    """On the epoch's loss alone it could not be told: each of the net's own layers leaves something out."""
    images = own.values[:120]
    answers = np.tile(np.array([[0.8, 0.2]], dtype=np.float32), (120, 1))
    short = Schedule(epochs=1, batch=40)
    some = [
        distil(images, answers, spec=own.spec, net=HALF, schedule=short, dropout=share)
        for share in (None, 0.0, 0.6)
    ]
    left_out = [{layer.p for layer in each.modules() if isinstance(layer, Dropout)} for each in some]
    assert left_out == [{0.2, 0.5}, {0.0}, {0.6}]
    assert len({float(next(each.parameters()).abs().sum()) for each in some}) == 3


def test_the_papers_student_has_layers_of_one_width(own: Samples) -> None:
    student = nets["hbc-student"].build(SampleSpec.picture(64, 64, 3), 2, 1.0)
    widths = [layer.out_channels for layer in student.modules() if isinstance(layer, torch.nn.Conv2d)]
    assert widths == [64] * 4
    assert student.parameter_count() == 116_418
