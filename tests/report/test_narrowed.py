"""The sentence that says which part of a run is shown."""

from __future__ import annotations

import pytest

from leakrange.report.narrowed import ALL, Narrowing, part_sentence

LARGEST = "those at the largest budget at which each attack was measured."


@pytest.mark.parametrize(
    ("to", "kept", "which"),
    [
        (ALL, 1200, LARGEST),
        (Narrowing.to(["p1"], [], []), 1200, "provider “p1”."),
        (Narrowing.to(["p2", "p1"], [], ["inside"]), 7, "providers “p1” and “p2”; attack “inside”."),
        (Narrowing.to([], ["noise"], []), 7, "defence “noise”, and the undefended case."),
        (Narrowing.to([], [], list("abcd")), 7, "4 attacks."),
    ],
)
def test_a_part_is_named(to: Narrowing, kept: int, which: str) -> None:
    sentence = part_sentence(to, kept, 43_000).replace("\N{NO-BREAK SPACE}", " ")
    assert sentence == f"This is about {kept:,} of the run’s 43,000 trials: {which}"


@pytest.mark.parametrize("to", [ALL, Narrowing.to(["p"], ["none"], ["a"])])
def test_of_the_whole_nothing_is_said(to: Narrowing) -> None:
    assert part_sentence(to, 50, 50) == ""
