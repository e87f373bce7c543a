"""What a class is told of a run's results, whole, on results of which the truth is known."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.report.findings import find
from leakrange.report.lesson import lesson
from leakrange.scenario.results import RunResults
from tests.report.test_headline import BLUR, FEW, area, results

ONE = [("a", "none", 0.93), ("a", "round", 0.9), ("a", "noise", 0.5)]


def told(cells: Any, provider: str = "a", **given: Any) -> dict[str, tuple[str, str, str]]:
    steps = lesson(find(results(cells, **given)), provider)
    plain = [
        [text.replace("\xa0", " ") for text in (step.sentence, step.figure, step.beside)] for step in steps
    ]
    return {step.name: (texts[0], texts[1], texts[2]) for step, texts in zip(steps, plain, strict=True)}


def test_a_run_that_leaks_and_a_defence_that_stops_it() -> None:
    assert told(ONE, defences=BLUR, honesty={"none": 0.9, "noise": 0.82, "round": 0.9}) == {
        "finds": (
            "An attacker is after “beard”. Of two users who differ in that, it tells which is which 93 of "
            "100 times; guessing gets 50 of 100. That is better than guessing: the answers give away "
            "“beard”.",
            "93 of 100",
            "guessing: 50 of 100",
        ),
        "changes": (
            "The defence “noise” stands between users and provider. The attacker, who got 93 of 100 without "
            "it, gets 50 of 100 with it. That is no better than guessing: it stops this leak of this "
            "provider.",
            "50 of 100",
            "without it: 93 of 100",
        ),
        "costs": (
            "The model is right about “glasses” for 90.0 % of samples without the defence, and 82.0 % with "
            "it. The defence costs 8.0 points.",
            "8.0 points",
            "fewer right answers",
        ),
    }


def test_a_run_that_does_not_leak() -> None:
    assert told([("a", "none", 0.51), ("a", "round", 0.5)], defences=BLUR) == {
        "finds": (
            "An attacker is after “beard”. Of two users who differ in that, it tells which is which 51 of "
            "100 times; guessing gets 50 of 100. That is no better than guessing: no leak was found.",
            "51 of 100",
            "guessing: 50 of 100",
        ),
        "changes": (
            "The defence “round” stands between users and provider. The attacker, who got 51 of 100 without "
            "it, gets 50 of 100 with it. No leak was found without it, so there was nothing to stop.",
            "50 of 100",
            "without it: 51 of 100",
        ),
        "costs": (
            "The model is right about “glasses” for 90.0 % of samples without the defence, and 90.0 % with "
            "it. The defence costs nothing.",
            "nothing",
            "is lost",
        ),
    }


@pytest.mark.parametrize(
    ("cells", "given", "ends"),
    [
        # too few records: nothing is claimed of the attack, nor of the defence
        (
            [("a", "none", area(0.56, FEW, FEW)), ("a", "round", 0.5)],
            {},
            ("Whether that is better than guessing cannot be told", "something to stop cannot be told"),
        ),
        (
            [("a", "none", 0.93), ("a", "noise", area(0.56, FEW, FEW))],
            {},
            ("give away", "still leaks cannot be"),
        ),
        ([("a", "none", 0.93), ("a", "noise", 0.7)], {}, ("give away", "smaller, and still there.")),
        ([("a", "none", 0.8), ("a", "round", 0.79)], {}, ("give away", "The leak is still there.")),
        # what the label tells already is no leak of the answers
        ([("a", "none", 0.815)], {"guessed": 0.815}, ("guessing gets 82 of 100. That is no better", "tried")),
        # scores the wrong way round tell as much
        ([("a", "none", 0.07)], {}, ("93 of 100 times; guessing gets 50 of 100. That is better", "tried")),
    ],
)
def test_the_verdict_is_that_of_the_report(cells: Any, given: Any, ends: tuple[str, str]) -> None:
    steps = told(cells, **({"defences": BLUR} | given))
    assert ends[0] in steps["finds"][0]
    assert ends[1] in steps["changes"][0]


def test_a_defence_that_only_strangers_met_is_said_to_be_untried() -> None:
    given = {"defences": BLUR, "honesty": {"none": 0.9, "noise": 0.82}}
    cells = [("a", "none", 0.93), ("a", "noise", 0.5)]
    doubt = " Attackers who know of it were not tried."
    assert told(cells, knowledge="unaware", **given)["changes"][0].endswith(doubt)
    assert doubt not in told(cells, knowledge="aware", **given)["changes"][0]


def test_no_defence_and_nothing_yet() -> None:
    steps = told([("a", "none", 0.93), ("b", "none", None)])
    assert steps["changes"][0] == "No defence was tried in this run."
    assert steps["costs"][:2] == (
        "The model is right about “glasses” for 90.0 % of samples. No defence takes from that.",
        "90.0 %",
    )
    assert told([("a", "none", 0.93), ("b", "none", None)], provider="b") == {}  # its trial failed
    waiting = told([("a", "none", 0.93), ("b", "none", 0.9), ("b", "noise", 0.5)], defences=BLUR)
    assert list(waiting) == ["finds"]  # its defended trials have not ended


def test_what_costs_somebody_and_helps_others_costs_nothing_in_the_mean() -> None:
    cells = [("a", "none", 0.93), ("a", "noise", 0.5)]
    steps = told(cells, defences=BLUR, honesty={"none": 0.9, "noise": 0.91})
    assert steps["costs"][0].endswith("In the mean the defence costs nothing.")


def redrawn() -> RunResults:
    """Of a picture drawn again, whose figure has no interval, so that nothing can be told."""
    return results(
        [("a", "none", 0.5)], kind="reconstruction", sensitive="", figures={"psnr": 21.25, "psnr_mean": 13.5}
    )


@pytest.mark.parametrize(("auc", "after"), [(0.51, "what users’ samples look like"), (0.93, "“beard”")])
def test_of_several_things_the_clearest_leak_is_told(auc: float, after: str) -> None:
    """No leak of one thing is no all-clear of the other."""
    both = results([("a", "none", auc)])
    both = both.model_copy(update={"trials": [*both.trials, *redrawn().trials]})
    assert lesson(find(both), "a")[0].sentence.startswith(f"An attacker is after {after}.")


def test_a_figure_of_another_range_has_no_bars() -> None:
    [finds, *_] = lesson(find(redrawn()), "a")
    assert finds.sentence.replace("\xa0", " ") == (
        "An attacker is after what users’ samples look like. It brings samples back with a PSNR of 21.25 dB; "
        "guessing gets 13.50 dB. Whether that is better than guessing cannot be told from this run."
    )
    assert finds.bars == []
