"""A report says where devices' own adversaries make a defence look better than it is."""

from __future__ import annotations

from leakrange.metrics import Estimate
from leakrange.report.caveats import caveats, outdated_adversaries
from leakrange.report.findings import find
from leakrange.scenario.results import TrialResult
from tests.report.build import run, trials

WHO = ("digits-regularized", "none", "unaware", 1000)


def with_adversaries(own: dict[int, float]) -> list[TrialResult]:
    """The trials of the made run; those of one cell have a curiosity of 90 %, and adversaries by seed."""
    found = trials()
    for place, trial in enumerate(found):
        if (trial.provider, trial.defence, trial.knowledge, trial.budget) == WHO and trial.seed in own:
            more = {"curiosity": Estimate(value=0.9), "local_curiosity": Estimate(value=own[trial.seed])}
            found[place] = trial.model_copy(update={"metrics": trial.metrics | more})
    return found


def test_the_trial_that_differs_most_stands_for_its_defence() -> None:
    results = run(trials=with_adversaries({0: 0.75, 1: 0.5}))
    [sentence] = outdated_adversaries(find(results))
    assert "Under none" in sentence
    assert "50.0 % of the time" in sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert "90.0 %: do not judge" in sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert sentence in caveats(find(results))


def test_adversaries_that_keep_up_are_not_told() -> None:
    assert outdated_adversaries(find(run(trials=with_adversaries({0: 0.85, 1: 0.95})))) == []
    assert outdated_adversaries(find(run(trials=trials()))) == []
