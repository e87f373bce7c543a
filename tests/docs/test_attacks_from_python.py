"""The page `attacks-from-python.md`: every attack that can be made from arrays is shown, runs, and finds what
the page plants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakrange.attacks import attack_with, attacks
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from tests.docs.blocks import blocks

PAGE = "docs/guides/attacks-from-python.md"


OF_EACH = (
    "auxiliary_labels",
    "distances",
    "having",
    "labels",
    "members",
    "person",
    "place",
    "population_labels",
)
"""Arguments with an entry for each row of another."""


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """The names that the page's blocks leave behind, which run one after the other, and all ``calls``."""
    calls: list[tuple[str, dict[str, Any]]] = []

    def noted(name: str, /, **given: Any) -> Any:
        calls.append((name, given))
        return attack_with(name, **given)

    names: dict[str, Any] = {"calls": calls}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leakrange.attacks.attack_with", noted)
        for block in blocks(PAGE):
            exec(compile("\n" * block.line + block.text, PAGE, "exec"), names)
    return names


def test_the_page_shows_every_attack_that_is_made_from_arrays() -> None:
    text = "".join(block.text for block in blocks(PAGE))
    made = {name for name, entry in attacks.items() if entry.arrays is not None}
    assert sorted(name for name in made if f'"{name}"' not in text) == []
    assert len(made) == 29


def test_members_are_found_in_what_a_forest_learned_by_heart(shown: dict[str, Any]) -> None:
    areas = {name: auc(scores, shown["member"]) for name, scores in shown["scores"].items()}
    assert min(areas[name] for name in ("loss-threshold", "lira", "base", "rmia", "quantile")) > 0.7
    assert areas["base"] > areas["loss-threshold"]
    assert min(areas.values()) > 0.5
    assert shown["distances"].shape == (60,)
    assert np.isfinite(shown["distances"]).all()


def test_what_was_planted_is_found(shown: dict[str, Any]) -> None:
    hidden, place = shown["hidden"][300:], shown["place"]
    for name, inference in {**shown["inferences"], "probing": shown["probed"]}.items():
        assert auc(inference.scores[:, 1], hidden) > 0.85, name
    for name, scores in shown["shares_told"].items():
        assert auc(scores, place == 1) > 0.9, name
    for name, scores in shown["found"].items():
        assert auc(scores, np.arange(50) < 20) > 0.9, name
    for scored in (shown["by_person"], shown["by_closeness"], shown["by_picture"]):
        enrolled = shown["enrolled"][shown["person"][scored.places]]
        assert len(scored.scores) == len(enrolled)
    assert auc(shown["by_person"].scores, shown["enrolled"][30:]) > 0.9
    np.testing.assert_allclose(shown["template"], shown["secret"], atol=1e-6)
    assert shown["drawn"].shape == (20, 16, 16, 1)
    assert [drawn.shape for drawn in shown["faces"].values()] == [(2, 16, 16, 1)] * 2
    assert shown["copied"].shape == (100, 10)


def test_rows_that_do_not_fit_are_refused_in_words_by_every_attack(shown: dict[str, Any]) -> None:
    tried = set()
    for name, given in shown["calls"]:
        for argument in sorted(given.keys() & set(OF_EACH)):
            short = np.asarray(given[argument])
            short = short[:, :-1] if argument in ("members", "distances") else short[:-1]
            with pytest.raises(InvalidInput) as raised:
                attack_with(name, **given | {argument: short})
            assert raised.value.detail
            tried.add(name)
    assert len(tried) == 22


@pytest.mark.parametrize("wrong", [np.nan, "text", None])
def test_what_is_no_number_is_refused_by_every_attack(shown: dict[str, Any], wrong: Any) -> None:
    for name, given in shown["calls"]:
        array = next(each for each in ("observed", "samples", "releases", "references") if each in given)
        broken = np.asarray(given[array]).astype(object if wrong is not np.nan else np.float64)
        broken.flat[-1] = wrong
        with pytest.raises(InvalidInput, match=f"'{array}' "):
            attack_with(name, **given | {array: broken})
