"""Large plans are counted before they are made, and refused by the field that makes them large."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.attacks.people.questions import public_pair_count, public_pairs
from leakrange.data import packed
from leakrange.data.sets import synthfaces
from leakrange.jobs.recipe import Crowd
from leakrange.scenario import bounds, matrix
from leakrange.scenario.bounds import MAX_MODELS, MAX_REQUESTS
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario

TEXT = """\
name: bounds
seeds: 0
data: {name: synthfaces, size: 64, count: 1000000}
providers:
  honest: {target: smile, sensitive: glasses}
clients: {phones: {samples: 128}}
attacks:
  outside: {kind: attribute-inference, auxiliary: 100, repeats: 2}
budgets: 200
"""


@pytest.fixture(autouse=True)
def _no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is made of numbers alone."""

    def image(*_: object) -> None:
        raise AssertionError("an image is drawn or decoded for a plan")

    monkeypatch.setattr(synthfaces, "draw", image)
    monkeypatch.setattr(packed, "decode", image)


def refused(text: str) -> dict[str, Any]:
    with pytest.raises(InvalidScenario) as caught:
        expand(parse(text))
    [mistake] = caught.value.mistakes
    return mistake


def samples(plan: Plan) -> int:
    return sum(span.stop - span.start for span in plan.streams[0].spans)


def test_a_million_faces_are_planned_for_without_drawing_one() -> None:
    plan = expand(parse(TEXT.replace("{samples: 128}", "{count: 9}")))
    assert samples(plan) == 200_000  # a fifth are for testing


def test_requests_are_counted_before_they_are_made() -> None:
    text = TEXT.replace("{samples: 128}", "{count: 9}").replace("count: 1000000", "count: 200000")
    found = refused(text.replace("seeds: 0", f"seeds: {list(range(9))}") + "chunk: 1\n")
    assert found["path"] == "chunk"
    assert f"more than {MAX_REQUESTS} requests of 1 samples" in found["message"]


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        (
            "auxiliary: 100, repeats: 2}\nbudgets: 200",
            f"auxiliary: 100, repeats: 1000}}\nbudgets: {list(range(200_000, 200_050))}\nx-: 1",
            "attacks.outside.repeats",
            "at most 500000",
        ),
        (
            "attacks:\n",
            "attacks:\n  members: {kind: lira, shadows: 512}\n",
            "attacks.members.shadows",
            "at most 500000",
        ),
    ],
)
def test_what_trials_need_is_counted_before_it_is_planned(
    old: str, new: str, path: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expanded(*_: object) -> None:
        raise AssertionError("it is expanded")

    monkeypatch.setattr(matrix, "Expansion", expanded)
    monkeypatch.setattr(bounds, "MAX_NEEDS", 500_000)
    text = TEXT.replace("count: 1000000}", "count: 1000000, subset: {pool: 1000}}").replace(old, new)
    found = refused(text.replace("seeds: 0", f"seeds: {list(range(100))}").replace("budgets: 200", WIDE))
    assert found["path"] == path
    assert found["line"] is not None
    assert said in found["message"]


WIDE = f"budgets: {list(range(200_000, 200_010))}"


def test_models_are_counted_with_the_shadows() -> None:
    providers = "".join(f"  p{i}: {{target: smile, net: {{width: {1 + i / 64}}}}}\n" for i in range(32))
    text = TEXT.replace("count: 1000000}", "count: 1000000, subset: {pool: 100}}")
    text = text.replace("  honest: {target: smile, sensitive: glasses}\n", providers)
    found = refused(text.replace("  outside: {kind: attribute-inference, auxiliary: 100, repeats: 2}",
                                 "  members: {kind: lira, shadows: 512, knowledge: unaware}"))  # fmt: skip
    assert found["path"] == "attacks.members.shadows"
    assert f"{32 + 32 * 512} models would be trained, at most {MAX_MODELS}" in found["message"]


@pytest.mark.parametrize(("own", "models"), [([99], None), ([99, 100], 10_100)])
def test_models_are_counted_with_the_obfuscators(own: list[int], models: int | None) -> None:
    def link(epochs: int, more: str = "") -> str:
        return f"pass: {{private: glasses, net: conv-2d, epochs: {epochs}{more}}}"

    chains = "".join(f"  d{i}: [{link(2 * i - 1)}, {link(2 * i)}]\n" for i in range(1, 50))
    chains += f"  sticky: [{link(1, ', sticky: true')}]\n"  # by the obfuscator of d1
    local = ", ".join(map(link, own))
    text = TEXT.replace("samples: 128", f"samples: 128, defence: [{local}]").replace(", repeats: 2", "")
    text = text.replace("attacks:\n", f"defences:\n  none: []\n{chains}attacks:\n")
    text = text.replace("seeds: 0", f"seeds: {list(range(100))}")
    if models is None:
        parse(text)
        return
    found = refused(text)
    assert found["path"] == "seeds"
    assert f"{models} models would be trained, at most {MAX_MODELS}" in found["message"]


def test_data_that_cannot_be_split_as_wanted_is_a_mistake_about_the_data() -> None:
    found = refused(TEXT.replace("count: 1000000", "count: 1000, subset: {pool: 5000}"))
    assert found["path"] == "data.synthfaces"
    assert "a pool of 5000 samples cannot be drawn" in found["message"]


@pytest.mark.parametrize("public", [20, 21, 37])
def test_pairs_of_the_public_are_counted_without_making_them(public: int) -> None:
    crowd = Crowd(public=public)
    assert public_pair_count(crowd) == len(public_pairs(crowd).same)
