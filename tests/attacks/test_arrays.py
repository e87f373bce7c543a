"""Attacks made from arrays: the same as from evidence, and mistakes that say what to give."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

from leakrange.attacks import attack_with, attacks
from leakrange.wire.errors import InvalidInput
from tests.attacks.membership.test_membership import made_up

DRAW = np.random.default_rng(5)
ANSWERS = DRAW.dirichlet([1.0, 2.0, 0.5], 40)
LABELS = DRAW.integers(0, 3, 40)
ABOUT = {"observed": ANSWERS, "labels": LABELS, "release": "softmax"}
MODELS = {"shadows": [ANSWERS, ANSWERS[::-1]], "members": [np.arange(40) < 20, np.arange(40) >= 20]}


def test_the_loss_orders_records_as_scikit_learns_does() -> None:
    scores = attack_with("loss-threshold", **ABOUT)
    losses = [
        log_loss([label], [answer], labels=[0, 1, 2]) for label, answer in zip(LABELS, ANSWERS, strict=True)
    ]
    assert np.argsort(scores).tolist() == np.argsort(np.negative(losses)).tolist()


@pytest.mark.parametrize("name", ["lira", "base", "rmia", "label-votes"])
def test_it_gives_what_the_attack_gives_for_the_same_evidence(name: str) -> None:
    evidence, _ = made_up(2.0)
    given = {
        field.name: getattr(evidence, field.name)
        for field in dataclasses.fields(evidence)
        if field.name not in ("samples", "population_samples", "spec")
    }
    entry = attacks[name]
    settings = {"mode": "online"}
    direct: Any = entry(entry.Parameters.model_validate(settings))
    np.testing.assert_array_equal(attack_with(name, **given, **settings), direct.score(evidence))


def test_a_single_query_needs_no_axis() -> None:
    lists = {**ABOUT, "observed": ANSWERS.tolist()}
    queries = {
        **ABOUT,
        "observed": ANSWERS[np.newaxis],
        "shadows": np.asarray(MODELS["shadows"])[:, np.newaxis],
    }
    once = attack_with("lira", **lists, **MODELS)
    np.testing.assert_array_equal(once, attack_with("lira", **queries, members=MODELS["members"]))


@pytest.mark.parametrize(
    ("name", "given", "detail", "hint"),
    [
        ("lirra", {}, "did you mean 'lira'?", ""),
        ("curious-decoder", {}, "is not made from arrays", "let a scenario make it"),
        ("lira", ABOUT, "also needs shadows, members", "help(attacks['lira'].arrays)"),
        ("lira", {}, "also needs shadows, members, observed, labels, release", ""),
        ("loss-test", {"labels": LABELS}, "also needs observed, having, release", ""),
        (
            "attribute-inference",
            {"release": "logits"},
            "needs auxiliary, auxiliary_labels, observed",
            "",
        ),
        ("loss-threshold", {**ABOUT, "label": 1}, "takes no argument 'label'", "did you mean 'labels'?"),
        ("lira", {**ABOUT, **MODELS, "mode": "on"}, "mode: Input should be 'online'", ""),
        ("lira", {**ABOUT, **MODELS, "members": np.full((2, 40), 2)}, "says yes or no", "0 and 1"),
        ("loss-threshold", {**ABOUT, "labels": LABELS + 0.5}, "holds classes", "give whole numbers"),
        ("loss-threshold", {**ABOUT, "observed": [[0.5, 0.5], [1.0]]}, "'observed' is no array", ""),
        ("loss-threshold", {**ABOUT, "release": "score"}, "from logits or softmax, not from score", ""),
        ("boundary", {"samples": np.ones((4, 3, 2)), "labels": [0] * 4}, "neither rows of numbers", "spec="),
        (
            "boundary",
            {"samples": ANSWERS, "labels": LABELS, "queries": 60, "ask": lambda rows: rows[:-1]},
            "'ask' gave answers (39, 3) about 40 samples",
            "one row of numbers for each",
        ),
    ],
)
def test_a_mistake_says_what_to_give(name: str, given: dict[str, Any], detail: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        attack_with(name, **given)
    assert detail in raised.value.detail
    assert hint in (raised.value.hint or "")
