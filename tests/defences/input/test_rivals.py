"""What each translator goes down, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from scipy.stats import entropy

from leakrange.defences.input import input_defences
from leakrange.defences.input.translating import Guess, Observation, Translation
from leakrange.defences.translation import info_nce, nt_xent

BATCH = 6
PRIVATE = {"s": 2, "t": 3}
USEFUL = {"u": 4}


def guesses(classes: dict[str, int], seed: int) -> list[Guess]:
    drawn = np.random.default_rng(seed)
    return [
        (
            torch.from_numpy(drawn.normal(size=(BATCH, count)) * 2),
            torch.from_numpy(drawn.integers(0, count, BATCH)),
            torch.from_numpy(drawn.dirichlet(np.full(count, 9.0))),
        )
        for count in classes.values()
    ]


@pytest.fixture(scope="module")
def seen() -> Observation:
    drawn = np.random.default_rng(0)
    x, shown = (torch.from_numpy(drawn.normal(size=(BATCH, 5))) for _ in range(2))
    compares: Any = lambda values: values * 2  # noqa: E731
    adversaries = [guesses(PRIVATE, seed) for seed in (1, 2)]
    return Observation(x, shown, adversaries, guesses(USEFUL, 3), compares)


def crossed(told: list[Guess]) -> float:
    total = 0.0
    for logits, labels, _ in told:
        total -= log_softmax(logits.numpy(), axis=1)[np.arange(BATCH), labels.numpy()].mean()
    return total


def terms(name: str, seen: Observation, **parameters: Any) -> dict[str, float]:
    link = input_defences[name]
    made = link(link.Parameters.model_validate({"private": tuple(PRIVATE), "useful": "u"} | parameters))
    assert isinstance(made, Translation)
    return {term: float(value) for term, value in made.loss(seen).items()}


def test_each_loss_is_what_its_paper_says(seen: Observation) -> None:
    first, second = (list(told) for told in seen.adversaries)
    kept = crossed(list(seen.kept))
    soft = [
        (softmax(logits.numpy(), axis=1), labels.numpy(), prior.numpy()) for logits, labels, prior in first
    ]
    moved = float(((seen.shown - seen.inputs) ** 2).mean())

    beyond = [max(0.0, entropy(p, q[None], axis=1).mean() - 0.3) for p, _, q in soft]
    assert [each > 0 for each in beyond] == [False, True]
    assert terms("adv", seen, weight=7.0, budget=0.3) == pytest.approx(
        {"useful": kept, "private": 7.0 * sum(each**2 for each in beyond)}
    )
    assert terms("gap", seen, distortion=0.5, penalty=9.0) == pytest.approx(
        {"private": -crossed(first), "distortion": 9.0 * (moved - 0.5)}
    )
    assert terms("gap", seen, distortion=99.0)["distortion"] == 0.0
    shy = [np.log(1 - p[np.arange(BATCH), y]) + np.log(1 - p.max(axis=1)) for p, y, _ in soft]
    weights = {"private_weight": 2.0, "useful_weight": 3.0, "distortion_weight": 5.0}
    assert terms("msda", seen, **weights) == pytest.approx(
        {"private": -2.0 * sum(each.mean() for each in shy), "useful": 3.0 * kept, "distortion": 5.0 * moved}
    )
    doubt = sum(entropy(p, axis=1).mean() for p, _, _ in soft)
    assert terms("bdq", seen, weight=3.0) == pytest.approx({"useful": kept, "private": -3.0 * doubt})
    best = min(crossed(first), crossed(second))
    assert best != pytest.approx(max(crossed(first), crossed(second)))
    assert terms("ppdar", seen, weight=3.0, adversaries=2) == pytest.approx(
        {"useful": kept, "private": -3.0 * best}
    )


def test_mass_pays_for_what_is_told_beyond_the_margin_and_for_what_is_lost(seen: Observation) -> None:
    # an adversary who knows the one attribute and errs about the other
    sure = [
        (8.0 * torch.eye(c)[y].double(), y, q)
        for c, (_, y, q) in zip((2, 3), seen.adversaries[0], strict=True)
    ]
    wrong = (-sure[1][0], *sure[1][1:])
    known = Observation(seen.inputs, seen.shown, [[sure[0], wrong]], seen.kept, seen.embedding)
    told = entropy(sure[0][2].numpy()) - crossed([sure[0]]) - 0.1
    lost = 0.9 * entropy(seen.kept[0][2].numpy()) - (
        entropy(seen.kept[0][2].numpy()) - crossed(list(seen.kept))
    )
    assert told > 0
    assert lost > 0
    alike = float(info_nce(2 * seen.shown, 2 * seen.inputs, 0.5))
    assert terms("mass", known, margin=0.1, kept=0.9, general=0.3, temperature=0.5) == pytest.approx(
        {"private": told + told**2, "useful": lost + lost**2, "general": 0.3 * alike}
    )


def test_spact_raises_what_its_contrastive_adversary_lowers(seen: Observation) -> None:
    alone = float(nt_xent(2 * seen.shown, 2 * seen.shown, 0.5))
    given = {"weight": 3.0, "temperature": 0.5, "masked": 0.0}
    kept = crossed(list(seen.kept))
    assert terms("spact", seen, **given) == pytest.approx({"useful": kept, "private": -3.0 * alone})
    link = input_defences["spact"]
    made = link(link.Parameters.model_validate({"private": tuple(PRIVATE), "useful": "u"} | given))
    assert isinstance(made, Translation)
    learnt = crossed(list(seen.adversaries[0])) + kept + alone
    assert float(made.challenge(seen)) == pytest.approx(learnt)


def test_dp_image_learns_to_give_the_picture_back(seen: Observation) -> None:
    assert terms("dp-image", seen, epsilon=1.0) == pytest.approx(
        {"distortion": float(((seen.shown - seen.inputs) ** 2).mean())}
    )
