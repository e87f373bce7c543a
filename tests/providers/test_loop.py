"""The loop's parts, called apart: who runs some of them only gets what the whole loop gets."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import Schedule
from leakrange.providers.loop import EpochSelection, FittedNet, Lessons, Trainer, seeded
from leakrange.providers.training import Training, train
from tests.providers.conftest import CASES, recipe


@pytest.mark.parametrize("name", ["honest", "raw", "mixture"])
def test_two_epochs_run_in_halves_give_what_the_loop_gives(name: str, images: Samples) -> None:
    made = recipe(*CASES[name], epochs=2)
    asked = made.model_copy(update={"schedule": made.schedule.model_copy(update={"select": "last"})})
    whole = train(asked, images)
    with seeded(asked.seed):
        training = Training(asked, images)
        first = training.epoch()
        batches = training.trainer.batches()  # the second epoch: one half as such, the other step by step
        half = len(batches) // 2
        losses = [training.trainer.epoch(batches[:half])] * half
        losses += [float(training.trainer.step(batch)) for batch in batches[half:]]
    assert first["loss"] == whole.history[0]["loss"]
    assert sum(losses) / len(batches) == pytest.approx(whole.history[1]["loss"], rel=1e-6)
    weights = training.trainee.classifier.state_dict()
    for key, kept in whole.classifier.state_dict().items():
        assert torch.equal(weights[key], kept), key


def lessons(count: int) -> Lessons:
    return Lessons(torch.randn(count, 2), torch.randint(0, 3, (count,)))


@pytest.mark.parametrize(("remainder", "sizes"), [(False, [4, 4]), (True, [4, 4, 3])])
def test_an_epoch_meets_each_lesson_once(remainder: bool, sizes: list[int]) -> None:
    net = torch.nn.Linear(2, 3)
    trainer = Trainer(FittedNet(net, cross_entropy, Schedule()), lessons(11), batch=4, remainder=remainder)
    batches = trainer.batches()
    assert [len(batch) for batch in batches] == sizes
    places = torch.cat(batches).tolist()
    assert len(set(places)) == len(places)
    assert not torch.equal(torch.cat(trainer.batches()), torch.cat(batches))
    shares: list[float] = []
    trainer.epoch(batches, shares.append)
    assert shares == pytest.approx([(step + 1) / len(sizes) for step in range(len(sizes))])


@pytest.mark.parametrize(
    ("rule", "scores", "kept"),
    [
        ("best", [1.0, 3.0, 3.0, 2.0], 2),
        ("last", [1.0, 3.0, 3.0, 2.0], 4),
        ("best", [math.nan, -math.inf, math.nan], 2),
    ],
)
def test_one_epoch_is_kept(rule: str, scores: list[float], kept: int) -> None:
    selection: EpochSelection[str] = EpochSelection(rule)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nothing was offered"):
        _ = selection.state
    for epoch, score in enumerate(scores, 1):
        selection.offer(epoch, score, lambda epoch=epoch: f"of {epoch}")  # type: ignore[misc]
    assert (selection.epoch, selection.state) == (kept, f"of {kept}")
    assert selection.score == scores[kept - 1]
