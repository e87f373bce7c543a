"""A report says where an attack went beyond its own bound, and is silent where noise explains it."""

from __future__ import annotations

from leakrange.metrics import Estimate
from leakrange.report import render
from leakrange.report.caveats import beyond_bounds, caveats
from leakrange.report.findings import find
from leakrange.scenario.results import TrialResult
from tests.report.build import run, trials

WHO = ("digits-regularized", "none", "unaware", 1000)


def bounded(bounds: dict[int, Estimate]) -> list[TrialResult]:
    """The trials of the made run; those of one cell have a curiosity of 93 to 95 %, and bounds by seed."""
    found = trials()
    for place, trial in enumerate(found):
        if (trial.provider, trial.defence, trial.knowledge, trial.budget) == WHO and trial.seed in bounds:
            reached = Estimate(value=0.94, low=0.93, high=0.95)
            more = {"curiosity": reached, "accuracy_bound": bounds[trial.seed]}
            found[place] = trial.model_copy(update={"metrics": trial.metrics | more})
    return found


def said(bounds: dict[int, Estimate]) -> list[str]:
    sentences = beyond_bounds(find(run(trials=bounded(bounds))))
    return [each.replace("\N{NO-BREAK SPACE}", " ") for each in sentences]


def test_an_attack_beyond_its_bound_is_told_with_both_figures() -> None:
    (sentence,) = said({1: Estimate(value=0.9, low=0.88, high=0.92)})
    assert sentence == (
        "The attack inside (unaware, budget 1,000, seed 1) on “digits-regularized” under none passes a "
        "bound: its curiosity of “loop” is 94.0 %, its bound of accuracy 90.0 %. That is a bug, or an "
        "estimate of H(u|r) that is too high."
    )


def test_the_trial_that_goes_furthest_stands_for_all() -> None:
    (sentence,) = said({0: Estimate(value=0.8), 1: Estimate(value=0.9, low=0.88, high=0.92)})
    assert "seed 0)" in sentence
    assert "80.0 %; so does another trial." in sentence


def test_what_intervals_leave_open_is_not_told() -> None:
    assert said({0: Estimate(value=0.935, low=0.92, high=0.95), 1: Estimate(value=0.97)}) == []
    assert said({}) == []


def test_the_page_says_it_among_what_limits_its_certainty() -> None:
    results = run(trials=bounded({1: Estimate(value=0.9)}))
    assert beyond_bounds(find(results))[0] in caveats(find(results))
    assert "passes a bound" in render(results)
