"""DPFE and adversarial training: y is known to be useful, s is hidden."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import ValidationError

from tests.defences.representation.conftest import FEDERATION, Told, link_of

LONGER = {**FEDERATION, "rounds": 10, "pretraining": 2, "local_epochs": 5}


def test_dpfe_hides_an_attribute_from_a_fresh_linear_attacker(
    learnt: Callable[..., Told],
) -> None:
    _, undefended = learnt("dpfe", strength=0.0, federation=LONGER)
    _, hidden = learnt("dpfe", strength=0.8, federation=LONGER)
    assert undefended["s"] >= 0.97
    assert hidden["s"] <= 0.88  # of six seeds .64 to .83
    assert hidden["y"] >= 0.97


def test_adversarial_training_fools_its_adversary_and_keeps_the_task(learnt: Callable[..., Told]) -> None:
    undefended, _ = learnt("adversarial", strength=0.0, federation=LONGER)
    trained, told = learnt("adversarial", strength=0.5, federation=LONGER)
    assert undefended.figures["test"]["adversary s"] >= 0.7
    assert trained.figures["test"]["adversary s"] <= 0.6
    assert told["y"] >= 0.97
    assert trained.figures["test"]["kept_loss"] < 0.1


@pytest.mark.parametrize("name", ["dpfe", "adversarial"])
def test_the_task_has_to_be_named(name: str) -> None:
    with pytest.raises(ValidationError, match="useful"):
        link_of(name, useful=None)
