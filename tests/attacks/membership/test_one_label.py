"""One label of each record: scores by hand, questions that part members from others, nothing where nothing
leaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import norm
from torch import nn

from leakrange.attacks import attacks
from leakrange.attacks.membership.crafting import ROUNDS, craft, crafted_against
from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.attacks.membership.one_label import OneLabel, advantage, halves, margins
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, Subset, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.craft import CraftJob
from leakrange.metrics import auc, tpr_at_fpr
from leakrange.nets.classifier import Classifier
from leakrange.wire.errors import InvalidInput, NotFound
from leakrange.wire.samples import SampleSpec

RECORDS, SHADOWS, SIZE = 240, 8, 3
VECTOR = SampleSpec(encoding="vector", shape=(SIZE,), dtype="float32")


def test_pairs_stay_whole_when_shadows_are_halved() -> None:
    for shadows, parts in ((4, (2, 2)), (8, (4, 4)), (12, (6, 6)), (20, (10, 10))):
        sources, judges = halves(shadows)
        numbers = list(range(shadows))
        assert (len(numbers[sources]), len(numbers[judges])) == parts
        assert numbers[sources] + numbers[judges] == numbers


def test_margins_worked_by_hand_are_the_same_of_logits_and_of_probabilities() -> None:
    logits = np.array([[[2.0, 5.0, 1.0], [0.0, -1.0, 3.5]]])
    labels = np.array([1, 0])
    np.testing.assert_allclose(margins(logits, labels, "logits"), [[3.0, -3.5]])
    soft = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(margins(soft, labels, "softmax"), [[3.0, -3.5]])
    with pytest.raises(InvalidInput, match="not finite"):
        margins(logits * np.nan, labels, "logits")


def released(classes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Answers that tell the class alone, of two classes."""
    return np.eye(2)[classes]


def test_scores_are_the_likelihood_ratio_of_the_label_worked_by_hand() -> None:
    """Four judges a record, two of either side, after four that are not looked at; margins in half units."""
    members = np.array([[True, False], [False, True]] * 4)
    known = np.array([[3.0, -1.0], [1.0, 2.0], [5.0, -2.0], [-1.0, 4.0]])  # of the judges
    shadows = np.zeros((8, 1, 2, 2))
    shadows[:4] = 1e3  # whatever the others say
    shadows[4:, 0, :, 0] = known
    evidence = MembershipEvidence(
        observed=released(np.array([[0, 1]])),
        labels=np.array([0, 0]),
        shadows=shadows,
        members=members,
        population=np.zeros((0, 2)),
        population_labels=np.zeros(0, int),
        population_shadows=np.zeros((8, 0, 2)),
        release="logits",
    )
    inside, outside = np.array([4.0, 3.0]), np.array([0.0, -1.5])
    # of members 3, 5 and 2, 4; of the others 1, −1 and −1, −2: squares from the means, two degrees of freedom
    deviation_in, deviation_out = np.sqrt((1 + 1 + 1 + 1) / 2), np.sqrt((1 + 1 + 0.25 + 0.25) / 2)
    p_in, p_out = norm.cdf(inside / deviation_in), norm.cdf(outside / deviation_out)
    expected = [np.log(p_in[0] / p_out[0]), np.log((1 - p_in[1]) / (1 - p_out[1]))]
    np.testing.assert_allclose(OneLabel().score(evidence), expected)
    np.testing.assert_allclose(advantage(known, members[4:]), p_in - p_out)


def test_three_shadow_models_and_fewer_are_refused() -> None:
    kind = attacks["oslo"]
    for shadows in (0, 2, 6, 514):
        with pytest.raises(ValueError, match=r"shadows"):
            kind.Parameters.model_validate({"shadows": shadows})


class Recalling(nn.Module):
    """A linear model that knows the class of everything, and more about what is near to what it ``knows``."""

    def __init__(self, direction: NDArray[np.float64], knows: NDArray[np.float64]) -> None:
        super().__init__()
        self.direction = torch.from_numpy(direction.astype(np.float32))
        self.knows = torch.from_numpy(knows.astype(np.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        near = torch.exp(-3.0 * torch.cdist(x, self.knows[:, :-1]) ** 2) @ self.knows[:, -1:]
        return x @ self.direction[:, None] + near


def recalling(
    samples: NDArray[np.float32],
    labels: NDArray[np.integer],
    members: NDArray[np.bool_],
    seed: int,
    memory: float,
) -> Classifier:
    rng = np.random.default_rng(seed)
    direction = 0.002 * rng.normal(size=SIZE)
    direction[0] = 1.0
    signs = memory * np.where(labels[members] == 1, 1.0, -1.0)
    head = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[-0.5], [0.5]]))
    knows = np.concatenate([samples[members], signs[:, None]], axis=1)
    return Classifier(Recalling(direction, knows), head, spec=VECTOR, features=1, classes=2).eval()


def target_and_shadows(
    memory: float,
) -> tuple[
    Classifier,
    Sequence[Classifier],
    NDArray[np.bool_],
    NDArray[np.bool_],
    NDArray[np.float32],
    NDArray[np.int64],
]:
    rng = np.random.default_rng(7)
    samples = rng.uniform(-15.0, 15.0, size=(RECORDS, SIZE)).astype(np.float32)
    labels = (samples[:, 0] > 0).astype(np.int64)
    samples[:, 0] = np.where(labels == 1, 0.15, -0.15)
    pairs = rng.random((SHADOWS // 2, RECORDS)) < 0.5
    members = np.stack([pairs, ~pairs], axis=1).reshape(SHADOWS, RECORDS)
    truth = rng.random(RECORDS) < 0.5
    nets = [recalling(samples, labels, each, seed, memory) for seed, each in enumerate(members)]
    return recalling(samples, labels, truth, 99, memory), nets, members, truth, samples, labels


def asked(net: Classifier, samples: NDArray[np.float32]) -> NDArray[np.float32]:
    with torch.inference_mode():
        return np.asarray(net(torch.from_numpy(samples)).numpy())


def scores_of(memory: float, *, crafts: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    target, nets, members, truth, samples, labels = target_and_shadows(memory)
    questions = craft(nets, members, samples, labels) if crafts else samples
    evidence = MembershipEvidence(
        observed=released(asked(target, questions).argmax(axis=1))[np.newaxis],
        labels=labels,
        shadows=np.stack([asked(net, questions) for net in nets])[:, np.newaxis],
        members=members,
        population=np.zeros((0, 2)),
        population_labels=np.zeros(0, int),
        population_shadows=np.zeros((SHADOWS, 0, 2)),
        release="logits",
    )
    return OneLabel().score(evidence), truth


def test_a_crafted_question_tells_what_the_records_own_label_hides() -> None:
    plain, truth = scores_of(1.0, crafts=False)
    crafted, _ = scores_of(1.0, crafts=True)
    assert auc(plain, truth) < 0.6  # every model knows the class of every record
    assert auc(crafted, truth) > 0.9
    assert tpr_at_fpr(crafted, truth, 0.01) > 0.3


def test_where_nothing_is_remembered_nothing_is_told() -> None:
    scores, truth = scores_of(0.0, crafts=True)
    assert np.isfinite(scores).all()
    assert 0.4 < auc(scores, truth) < 0.6


def test_samples_stay_samples_and_progress_is_told() -> None:
    spec = SampleSpec.picture(4, 4, 1)
    rng = np.random.default_rng(3)
    samples = rng.integers(0, 256, (20, 4, 4, 1), dtype=np.uint8)
    labels = rng.integers(0, 2, 20)
    nets = []
    for seed in range(4):
        torch.manual_seed(seed)
        nets.append(Classifier(nn.Flatten(), nn.Linear(16, 2), spec=spec, features=16, classes=2).eval())
    members = np.array([[True], [False]] * 2) ^ (np.arange(20) % 3 == 0)
    told: list[tuple[int, int]] = []
    questions = craft(nets, members, samples, labels, lambda done, most: told.append((done, most)))
    assert (questions.dtype, questions.shape) == (samples.dtype, samples.shape)
    assert told[0] == (1, ROUNDS)
    np.testing.assert_array_equal(questions, craft(nets, members, samples, labels))


def test_a_shadow_model_that_is_not_trained_is_told() -> None:
    data = DataSpec(name="digits", size=16, subset=Subset(pool=60))
    recipe = TrainingRecipe(
        data=data,
        behaviour="honest",
        parameters={"target": "digit"},
        net=NetSpec(width=0.5),
        schedule=Schedule(epochs=1),
        seed=1,
    )
    span = Span(data=data.of_everyone(), split="pool", start=0, stop=60)
    job = CraftJob(recipes=[recipe] * 4, span=span, target="digit")
    with pytest.raises(NotFound, match="is not trained"):
        crafted_against(job, lambda digest: Path("/nowhere") if digest == "x" else None)
