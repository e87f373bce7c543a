"""The three sentences say what the figures say, and say so when the figures say nothing."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable

import pytest

from leakrange.metrics import Estimate
from leakrange.report.answer import sentences
from leakrange.report.caveats import caveats
from leakrange.report.effects import HARDLY, effects
from leakrange.report.findings import find
from leakrange.report.tiles import tiles
from leakrange.scenario.results import RunResults, TrialResult
from tests.report.build import DEFENCES, SEEDS, TASKS, area, measured, run, trials, unmeasured

CURIOUS = ("regularized", "parameterized-raw", "parameterized-soft")


def said(results: RunResults) -> list[str]:
    return [sentence.replace("\N{NO-BREAK SPACE}", " ") for sentence in sentences(find(results))]


def figures(name: str, defence: str, knowledge: str, field: str) -> list[float]:
    """The seeds' figures at the largest budget, straight from the trials."""
    return [
        trial.metrics[field].value
        for trial in trials()
        if (trial.provider, trial.defence, trial.knowledge, trial.budget) == (name, defence, knowledge, 1000)
    ]


def kept(defence: str) -> list[float]:
    """What share of its lead over chance the attack keeps, per curious provider."""
    return [above(provider, defence) / above(provider, "none") for provider in LEAKING]


LEAKING = [f"{data}-{name}" for data in TASKS for name in CURIOUS]


def above(provider: str, defence: str) -> float:
    """How far the AUC is above chance."""
    return statistics.fmean(figures(provider, defence, "unaware", "auc")) - 0.5


def cost(defence: str) -> float:
    """The mean change of honesty over all providers that leak."""
    return statistics.fmean(
        statistics.fmean(figures(provider, defence, "unaware", "honesty"))
        - statistics.fmean(figures(provider, "none", "unaware", "honesty"))
        for provider in LEAKING
    )


def test_honest_providers_are_told_by_the_most_exposed_and_its_strongest_attack(results: RunResults) -> None:
    auc, data, knowledge = max(
        (statistics.fmean(figures(f"{data}-honest", "none", knowledge, "auc")), data, knowledge)
        for data in TASKS
        for knowledge in ("unaware", "aware", "averaging")
    )
    right = statistics.fmean(figures(f"{data}-honest", "none", knowledge, "curiosity"))
    sentence = said(results)[0]
    assert sentence.startswith(
        f"Both honest providers leak little, most of all “{data}-honest”: from its undefended outputs the "
        f"strongest attack (outside, {knowledge}, budget 1,000) tells “loop” with an AUC of {auc:.3f} (95 % "
        "interval "
    )
    assert (
        f", 2 seeds; it guesses “loop” right {100 * right:.1f} % of the time, always guessing the "
        f"commonest answer {100 * TASKS[data][2]:.1f} %), {auc - 0.5:.3f} above guessing (0.500). At most "
    ) in sentence


def test_curious_providers_are_told_by_the_worst_and_its_honesty(results: RunResults) -> None:
    auc, provider = max(
        (statistics.fmean(figures(provider, "none", "unaware", "auc")), provider) for provider in LEAKING
    )
    data = provider.partition("-")[0]
    sentence = said(results)[1]
    honesty = statistics.fmean(figures(provider, "none", "unaware", "honesty"))
    difference = honesty - statistics.fmean(figures(f"{data}-honest", "none", "aware", "honesty"))
    assert sentence.startswith(
        f"All 6 curious providers learn what they should not, most of all “{provider}”: the strongest attack "
        f"(inside, unaware, budget 1,000) tells “loop” with an AUC of {auc:.3f} ("
    )
    assert f"{auc - 0.5:.3f} above guessing (0.500), " in sentence
    assert f"at an honesty of {100 * honesty:.1f} %, {abs(100 * difference):.1f} points below" in sentence


def test_a_provider_that_leaks_several_attributes_is_counted_once(results: RunResults) -> None:
    trials = [
        trial.model_copy(update={"provider": trial.provider.replace("-soft", "-raw"), "sensitive": "another"})
        if trial.provider.endswith("-soft")
        else trial
        for trial in results.trials
    ]
    several = results.model_copy(update={"summaries": [], "trials": trials})
    assert said(several)[2].startswith(
        "On the 6 leaks of 4 providers without a defence, argmax stops the leak"
    )


def test_defences_are_told_by_what_the_attack_keeps_and_what_they_cost(results: RunResults) -> None:
    sentence = said(results)[2]
    assert sentence.startswith(
        "On the 6 providers that leak without a defence, argmax stops the leak (at most 0.043 beyond chance, "
    )
    assert "rounded hardly changes it (" in sentence
    assert re.search(r"noise \(.*\) and top-1 \(.*\) weaken it;", sentence)
    for defence in ("rounded", "noise", "top-1"):
        low, high = min(kept(defence)), max(kept(defence))
        assert f"the attack keeps {100 * low:.1f} to {100 * high:.1f} % of its lead over chance" in sentence
    assert re.search(rf"noise \([^)]*, at a cost of {-100 * cost('noise'):.1f} points of honesty\)", sentence)
    assert re.search(rf"top-1 \([^)]*, with {100 * cost('top-1'):.1f} points more of honesty\)", sentence)
    assert sentence.count("at no cost in honesty") == 2


def test_a_defence_that_stops_one_leak_or_hardly_changes_one_does_not_do_so_to_all() -> None:
    """The words are those of the worst case: noise stops one, top-1 hardly changes one."""
    findings = find(run())
    words = [verdict.word for (_, defence), verdict in findings.verdicts.items() if defence == "noise"]
    assert {"none", "leaks"} == set(words)
    assert max(kept("top-1")) > HARDLY
    kinds = {effect.defence: effect.kind for effect in effects(findings)}
    assert kinds == {"rounded": "hardly", "noise": "weakens", "top-1": "weakens", "argmax": "stops"}


def test_tiles_carry_the_same_figures(results: RunResults) -> None:
    found = {tile.label: tile for tile in tiles(find(results))}
    assert found["Strongest defence of “loop” and “glasses”"].figure == "argmax"
    assert found["Weakest defence of “loop” and “glasses”"].figure == "rounded"
    assert found["Trials finished"].figure == "240"
    assert "40,000" in found["Trials finished"].beside
    assert found["“digits-parameterized-raw” gives away “loop”"].tone == "bad"
    assert found["No leak of “loop” was found at “digits-honest”"].tone == "good"


def test_the_first_three_say_the_worst_leak_its_best_defence_and_how_much_was_tried() -> None:
    labels = [tile.label for tile in tiles(find(run()))]
    assert labels[:3] == [
        "“digits-parameterized-raw” gives away “loop”",
        "Strongest defence of “loop” and “glasses”",
        "Trials finished",
    ]


def test_two_seeds_are_admitted_to_be_few(results: RunResults) -> None:
    assert any("two seeds only" in caveat for caveat in caveats(find(results)))


def test_intervals_over_few_people_are_admitted_to_be_so() -> None:
    def on(*groups: float | None) -> list[str]:
        """The caveats of a run whose first trials rest on so many effective groups."""
        every = trials()
        for place, each in enumerate(groups):
            figures = {} if each is None else {"effective_groups": Estimate(value=each)}
            every[place] = every[place].model_copy(update={"metrics": {**every[place].metrics, **figures}})
        told = caveats(find(run(trials=every)))
        return [each.replace("\N{NO-BREAK SPACE}", " ") for each in told if "of equal size" in each]

    assert on(10.0, None, 120.0) == []
    assert on(9.5, None, 3.24, 10.0) == [
        f"The 95 % intervals over the samples of 2 trials (of {len(trials()):,}) rest on few people or "
        "recordings, or mostly on one: on as much as 3.2 of equal size. Below 10 they are approximate, and "
        "wide."
    ]


def only(keep: Callable[[TrialResult], bool]) -> RunResults:
    return run(trials=[trial for trial in trials() if keep(trial)])


def changed(**fields: object) -> RunResults:
    return run(trials=[unmeasured(trial, **fields) for trial in trials()])


PARTIAL: dict[str, tuple[Callable[[], RunResults], tuple[str, str, str]]] = {
    "nothing at all": (
        lambda: run(trials=[], models=[], ledger=[], scenario={}),
        ("attacks no honest provider", "attacks no curious provider", "cannot be told"),
    ),
    "still queued": (
        lambda: changed(state="queued"),
        (
            "honest providers leak is not known yet",
            "curious providers leak is not known yet",
            "not known yet",
        ),
    ),
    "all failed": (
        lambda: changed(state="failed", error="no worker"),
        ("not known yet", "not known yet", "not known yet"),
    ),
    "honest providers only": (
        lambda: only(lambda trial: trial.behaviour == "honest"),
        ("leak little", "attacks no curious provider", "so no defence had anything to stop"),
    ),
    "curious providers only": (
        lambda: only(lambda trial: trial.behaviour != "honest"),
        ("attacks no honest provider", "with no honest provider of the same task", "argmax stops the leak"),
    ),
    "no undefended case": (
        lambda: only(lambda trial: trial.defence != "none"),
        ("undefended was not measured", "undefended was not measured", "cannot be told"),
    ),
    "no defence": (
        lambda: only(lambda trial: trial.defence == "none"),
        ("leak little", "All 6 curious providers learn", "No defence was tried"),
    ),
    "one provider of each kind": (
        lambda: only(lambda t: t.provider in ("digits-honest", "digits-parameterized-raw")),
        (
            "The honest provider “digits-honest” leaks little",
            "The curious provider",
            "On the one provider that leaks",
        ),
    ),
    "one seed": (
        lambda: only(lambda trial: trial.seed == SEEDS[0]),
        (", 1 seed; it guesses", ", 1 seed; it guesses", "argmax stops"),
    ),
}


@pytest.mark.parametrize("case", PARTIAL)
def test_runs_with_only_some_figures_say_what_is_not_known(case: str) -> None:
    make, expected = PARTIAL[case]
    told = said(make())
    assert len(told) == 3
    for sentence, phrase in zip(told, expected, strict=True):
        assert phrase in sentence
        assert sentence.endswith(".")
        assert not re.search(r"\b(None|nan|inf)\b", sentence)


def test_a_failed_seed_is_left_out_of_the_figures() -> None:
    found = trials()
    spoiled = [
        measured(trial, auc=0.0).model_copy(update={"state": "failed"}) if trial.seed == SEEDS[1] else trial
        for trial in found
    ]
    one_seed = [trial for trial in found if trial.seed == SEEDS[0]]
    assert said(run(trials=spoiled)) == said(run(trials=one_seed))
    assert any("There is one seed only" in caveat for caveat in caveats(find(run(trials=spoiled))))


def test_a_defence_that_was_measured_on_some_providers_only_says_so() -> None:
    gone = {"digits-regularized", "digits-parameterized-raw"}
    partly = only(lambda trial: trial.defence != "argmax" or trial.provider not in gone)
    assert re.search(r"argmax stops the leak \([^)]*, measured on 4 of 6\)", said(partly)[2])


def test_an_honest_provider_that_leaks_is_not_called_harmless() -> None:
    leaky = [measured(trial, auc=area(0.8)) if trial.behaviour == "honest" else trial for trial in trials()]
    assert said(run(trials=leaky))[0].startswith("Both honest providers leak although nobody meant them to, ")


def test_the_undefended_case_is_the_empty_chain_whatever_its_name() -> None:
    renamed = [
        trial.model_copy(update={"defence": "bare"}) if trial.defence == "none" else trial
        for trial in trials()
    ]
    chains = {name if name != "none" else "bare": [] if name == "none" else [name] for name in DEFENCES}
    findings = find(run(trials=renamed, scenario={"defences": chains}))
    assert findings.undefended == "bare"
    assert findings.colour("bare") == 0


def test_a_remote_model_alone_is_compared_with_none_of_ours() -> None:
    remote = run(
        trials=[
            trial.model_copy(update={"behaviour": "remote"})
            for trial in trials()
            if trial.provider == "digits-parameterized-raw" and trial.seed == SEEDS[0]
        ]
    )
    first, *others = said(remote)
    assert first.startswith("The remote provider “digits-parameterized-raw” leaks: from its outputs")
    assert "honest provider" not in " ".join([first, *others])
    assert ", at an honesty of 97." in first
    labels = [tile.label for tile in tiles(find(remote))]
    assert labels[0] == "“digits-parameterized-raw” gives away “loop”"
    assert "Users of “digits-parameterized-raw” get" in labels
