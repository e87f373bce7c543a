"""Ensembles: what one training record can change, and what their answers are."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from leakrange.data.samples import Samples
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets.classifier import to_input
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.providers.model_file import load_classifier
from leakrange.providers.training import TrainedModel, Training, train
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from tests.providers.conftest import recipe
from tests.providers.pictures import patches
from tests.providers.test_artifact import with_config


def asked(epochs: int = 2, voters: int = 3, **schedule: object) -> TrainingRecipe:
    made = recipe("honest/ensemble", {"target": "hat", "voters": voters}, epochs=epochs)
    return made.model_copy(update={"schedule": made.schedule.model_copy(update={"batch": 20} | schedule)})


@pytest.fixture(scope="module")
def few() -> Samples:
    return patches(count=300)


def voters(model: TrainedModel) -> list[dict[str, torch.Tensor]]:
    """The weights of each voter."""
    states: list[dict[str, torch.Tensor]] = [{} for _ in range(3)]
    for name, weights in model.classifier.state_dict().items():
        part, rest = name.removeprefix("body.").removeprefix("head.heads.").split(".", 1)
        states[int(part)][name[:4] + rest] = weights
    return states


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_one_training_record_changes_one_voter_and_no_other(few: Samples) -> None:
    """Nor do the validation samples choose among epochs."""
    before = train(asked(), few)
    places = few.where("train")
    values, hat = few.values.copy(), few.labels["hat"].copy()
    values[places[4]] = 255 - values[places[4]]  # a sample of the second voter
    held_out = few.where("validation")
    hat[held_out] = 1 - hat[held_out]
    after = train(asked(), dataclasses.replace(few, values=values, labels={**few.labels, "hat": hat}))
    assert before.chosen_epoch == after.chosen_epoch == 2
    pairs = zip(voters(before), voters(after), strict=True)
    assert [same(*pair) for pair in pairs] == [True, False, True]
    assert not same(voters(before)[0], voters(before)[2])


def test_every_batch_is_of_one_voter_and_no_sample_comes_twice(few: Samples) -> None:
    training = Training(asked(), few)
    batches = training.trainer.batches()
    assert {len(batch) for batch in batches} == {20}
    parts = [set((batch % 3).tolist()) for batch in batches]
    assert [len(part) for part in parts] == [1] * len(batches)
    assert {number for part in parts for number in part} == {0, 1, 2}
    places = torch.cat(batches).tolist()
    assert len(set(places)) == len(places)


def test_a_release_is_the_shares_of_the_votes(trained: dict[str, TrainedModel], images: Samples) -> None:
    model = trained["ensemble"]
    assert model.figures["test"]["honesty"] > 0.9
    assert model.decoder is None
    shares = outputs(model.classifier, images.values[:200], "softmax")
    counts = {tuple(row) for row in np.rint(3.0 * shares).astype(int).tolist()}
    assert counts >= {(3, 0), (0, 3)}
    np.testing.assert_allclose(3.0 * shares, np.rint(3.0 * shares), atol=1e-5)
    vote = Chain.parse([{"noisy-vote": {"voters": 3, "sigma": 0.01}}])
    for release in ("softmax", "logits"):
        answers = outputs(model.classifier, images.values[:200], release)
        context = ReleaseContext(release=release, draw=np.random.default_rng(0))  # type: ignore[arg-type]
        np.testing.assert_array_equal(vote.apply(answers, context).argmax(axis=1), shares.argmax(axis=1))


def test_who_crafts_against_votes_gets_a_direction_that_turns_them(
    trained: dict[str, TrainedModel], images: Samples
) -> None:
    """Votes alone have no gradient. The answers stay those of votes to the last digit."""
    net = trained["ensemble"].classifier.eval()
    values = torch.from_numpy(images.values[:100].astype(np.float32))
    inputs = to_input(values, net.spec).requires_grad_()
    answers = net(inputs)
    labels = answers.argmax(dim=1)
    with torch.no_grad():
        torch.testing.assert_close(net(inputs), answers, rtol=0, atol=0)
    torch.nn.functional.cross_entropy(answers, labels, reduction="sum").backward()
    assert inputs.grad is not None
    moved = inputs.detach() + 0.5 * inputs.grad.sign()
    with torch.no_grad():
        kept = (net(moved).argmax(dim=1) == labels).float().mean()
        away = (net(inputs.detach() - 0.5 * inputs.grad.sign()).argmax(dim=1) == labels).float().mean()
    assert kept < 0.7 < 0.9 < away


def test_its_file_answers_as_it_does(
    trained: dict[str, TrainedModel], images: Samples, tmp_path: Path
) -> None:
    loaded = artifact.load(artifact.save(tmp_path, trained["ensemble"])).classifier
    for release in ("logits", "features"):
        answers = [
            outputs(each, images.values[:20], release) for each in (loaded, trained["ensemble"].classifier)
        ]
        np.testing.assert_array_equal(*answers)


def test_a_voter_needs_a_batch_of_its_own(few: Samples) -> None:
    with pytest.raises(InvalidInput, match="make 9 parts of") as refused:
        train(asked(voters=9, batch=40), few)
    assert "fewer voters" in str(refused.value.hint)


def test_no_choice_of_an_epoch_looks_at_all_voters(few: Samples) -> None:
    with pytest.raises(InvalidInput, match="keeps its last epoch"):
        train(asked(select="strangers"), few)


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"voters": 2}, "features"),
        ({"voters": 1}, "voters"),
        ({"voters": 501}, "voters"),
        ({"cosine": 2.0}, "voters answer for one attribute"),
        ({"mixture": {"classes": 2, "beta_s": 0.2, "hard": False}}, "voters answer for one attribute"),
    ],
    ids=str,
)
def test_a_file_that_says_otherwise_is_refused(
    changes: dict[str, object], mistake: str, trained: dict[str, TrainedModel]
) -> None:
    content = with_config(artifact.classifier_bytes(trained["ensemble"]), **changes)
    with pytest.raises(InvalidArtifact, match=mistake):
        load_classifier(content)
