"""What may be said of figures, sentence by sentence: whole, and with the card that stands beside it."""

from __future__ import annotations

import pytest

from leakrange.metrics import Estimate
from leakrange.report.answer import sentences
from leakrange.report.effects import effects
from leakrange.report.findings import find
from leakrange.report.glance import glance
from leakrange.report.tiles import tiles
from leakrange.scenario.results import TrialResult
from tests.report.build import area, estimates, run

RIGHT = {"curiosity": 0.762, "majority": 0.761}


def trial(
    seed: int = 0, defence: str = "none", attack: str = "outside", **figures: float | Estimate
) -> TrialResult:
    """An attack on an honest provider, which hides nothing on purpose."""
    return TrialResult(
        id=f"{defence}.{attack}.s{seed}",
        kind="attribute",
        provider="bank",
        data="adult",
        behaviour="honest",
        release="softmax",
        target="income",
        sensitive="gender",
        defence=defence,
        attack=attack,
        knowledge="unaware",
        budget=500,
        seed=seed,
        state="done",
        metrics=estimates(figures),
    )


def beyond(value: float, half: float) -> Estimate:
    return Estimate.within(value, (value - half, value + half))


LEAKS = "The honest provider “bank” leaks although nobody meant it to"
LITTLE = "The honest provider “bank” leaks little"
NONE = "No leak was found at the honest provider “bank”"
UNCLEAR = "Whether the honest provider “bank” leaks cannot be told"
FROM = (
    ": from its undefended outputs the strongest attack (outside, unaware, budget 500) tells “gender” "
    "with an "
    "AUC of "
)
GUESSES = "; it guesses “gender” right 76.2 % of the time, always guessing the commonest answer 76.1 %"
CASES: dict[str, tuple[list[TrialResult], str, str, str]] = {
    "an imbalanced attribute that accuracy says nothing of": (
        [trial(auc=area(0.731, 240, 760), **RIGHT)],
        f"{LEAKS}{FROM}0.731 (95 % interval 0.693 to 0.765, 1 seed{GUESSES}), 0.231 above guessing "
        "(0.500).",
        "“bank” gives away “gender”", "bad",
    ),
    "an AUC alone": (
        [trial(auc=area(0.62, 500, 400))],
        f"{LEAKS}{FROM}0.620 (95 % interval 0.583 to 0.656, 1 seed), 0.120 above guessing (0.500).",
        "“bank” gives away “gender”", "bad",
    ),
    "too few records": (
        [trial(auc=area(0.57, 15, 25), **RIGHT)],
        f"{UNCLEAR}{FROM}0.570 (95 % interval 0.389 to 0.732, 1 seed{GUESSES}), 0.070 above guessing "
        "(0.500), which may be luck. That is too uncertain: as much as 0.232 beyond chance may leak. More "
        "users "
        "would tell.",
        "Cannot tell whether “bank” gives away “gender”", "plain",
    ),
    "a constant attack": (
        [trial(auc=0.5, constant=1.0, **RIGHT)],
        f"{UNCLEAR}{FROM}0.500 (constant scores{GUESSES}), as high as guessing (0.500). It gave everybody "
        "the same score: it has learnt nothing, and nothing follows from that.",
        "Cannot tell whether “bank” gives away “gender”", "plain",
    ),
    "one seed without an interval": (
        [trial(auc=0.62, **RIGHT)],
        f"{UNCLEAR}{FROM}0.620 (one seed, so no interval{GUESSES}), 0.120 above guessing (0.500), "
        "which may "
        "be luck. Nothing says how uncertain that is: more seeds would.",
        "Cannot tell whether “bank” gives away “gender”", "plain",
    ),
    "all clear, with power": (
        [trial(seed, auc=area(0.505 + 0.004 * seed, 2000, 1900), **RIGHT) for seed in range(3)],
        f"{LITTLE}{FROM}0.509 (95 % interval 0.490 to 0.528, 3 seeds{GUESSES}), 0.009 above guessing "
        "(0.500), which may be luck. At most 0.028 beyond chance leaks to these attacks; a leak of 0.027 "
        "would have been found 8 times in 10.",
        "No leak of “gender” was found at “bank”", "good",
    ),
    "no leak of more than so much": (
        [trial(auc=area(0.52, 250, 260), **RIGHT)],
        f"{NONE}{FROM}0.520 (95 % interval 0.470 to 0.570, 1 seed{GUESSES}), 0.020 above guessing "
        "(0.500), "
        "which may be luck. At most 0.070 beyond chance leaks to these attacks; a leak of 0.072 would have "
        "been found 8 times in 10.",
        "No leak of “gender” was found at “bank”", "good",
    ),
    "an AUC that is reliably below one half": (
        [trial(auc=area(0.31, 240, 760), **RIGHT)],
        f"{LEAKS}{FROM}0.310 (95 % interval 0.274 to 0.350, 1 seed{GUESSES}), 0.190 below guessing "
        "(0.500), "
        "and reliably so: whoever turns its scores round has 0.690.",
        "“bank” gives away “gender”", "bad",
    ),
    "explained by the control": (
        [trial(auc=area(0.731, 240, 760), imputation_auc=0.725, beyond_imputation=beyond(0.006, 0.027))],
        f"{LITTLE}{FROM}0.731 (95 % interval 0.693 to 0.765, 1 seed), 0.231 above guessing (0.500), "
        "which is "
        "no more than what the true label tells already. At most 0.033 beyond that leaks to these attacks; a "
        "leak of 0.039 would have been found 8 times in 10.",
        "No leak of “gender” was found at “bank”", "good",
    ),
    "more than the control": (
        [trial(auc=area(0.731, 240, 760), imputation_auc=0.6, beyond_imputation=beyond(0.131, 0.04))],
        f"{LEAKS}{FROM}0.731 (95 % interval 0.693 to 0.765, 1 seed), 0.231 above guessing (0.500), "
        "and 0.131 "
        "more than what the true label tells already (95 % interval 0.091 to 0.171).",
        "“bank” gives away “gender”", "bad",
    ),
    "two seeds that disagree": (
        [trial(0, auc=area(0.75, 500, 480)), trial(1, auc=area(0.51, 500, 480))],
        f"{UNCLEAR}{FROM}0.630 (95 % interval 0.474 to 0.779, 2 seeds), 0.130 above guessing (0.500), "
        "which "
        "may be luck. The seeds disagree: they reach 0.510 to 0.750.",
        "Cannot tell whether “bank” gives away “gender”", "plain",
    ),
    "two seeds that differ, and both leak": (
        [trial(0, auc=area(0.75, 500, 480)), trial(1, auc=area(0.66, 500, 480))],
        f"{LEAKS}{FROM}0.705 (95 % interval 0.625 to 0.779, 2 seeds), 0.205 above guessing (0.500).",
        "“bank” gives away “gender”", "bad",
    ),
    "the strongest of twenty attacks": (
        [trial(attack=f"outside-{n}", auc=area(0.47 + 0.005 * n, 250, 260)) for n in range(1, 20)]
        + [trial(auc=area(0.566, 250, 260))],
        f"{UNCLEAR}{FROM}0.566 (95 % interval 0.516 to 0.615, 1 seed), 0.066 above guessing (0.500), "
        "which "
        "may be luck. That is too uncertain: as much as 0.115 beyond chance may leak. More users would tell.",
        "Cannot tell whether “bank” gives away “gender”", "plain",
    ),
    "a seed under which the attack learnt nothing": (
        [trial(0, auc=area(0.75, 500, 480)), trial(1, auc=0.5, constant=1.0)],
        f"{UNCLEAR}{FROM}0.625 (constant scores under 1 of 2 seeds), 0.125 above guessing (0.500). It "
        "gave everybody the same score under 1 of 2 seeds: it has learnt nothing, and nothing follows "
        "from that.",
        "Cannot tell whether “bank” gives away “gender”", "plain",
    ),
    "the one of two attacks that has learnt something": (
        [trial(auc=area(0.552, 250, 260)), trial(attack="other", auc=0.5, constant=1.0)],
        f"{LEAKS}{FROM}0.552 (95 % interval 0.502 to 0.601, 1 seed), 0.052 above guessing (0.500).",
        "“bank” gives away “gender”", "bad",
    ),
    "a control that goes further than the attack": (
        [trial(auc=area(0.52, 250, 260)), trial(attack="imputation", auc=area(0.8, 250, 260), control=1.0)],
        f"{NONE}{FROM}0.520 (95 % interval 0.470 to 0.570, 1 seed), 0.020 above guessing (0.500), which "
        "may be luck. At most 0.070 beyond chance leaks to these attacks; a leak of 0.072 would have been "
        "found 8 times in 10.",
        "No leak of “gender” was found at “bank”", "good",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_what_the_figures_allow(case: str) -> None:
    trials, sentence, label, tone = CASES[case]
    findings = find(run(trials=trials, models=[], ledger=[], scenario={}))
    assert sentences(findings)[0].replace("\N{NO-BREAK SPACE}", " ") == sentence
    card = tiles(findings)[0]
    assert (card.label, card.tone) == (label, tone)
    [rows] = glance(findings).values()
    cell = rows[0].cells[0]
    assert cell is not None
    assert ("no leak found" in cell.full, "cannot tell" in cell.full) == (tone == "good", tone == "plain")
    assert (cell.shade == 0.0) >= (tone == "good")


DEFENDED = {
    "argmax": area(0.51, 1000, 900),
    "rounded": area(0.745, 1000, 900),
    "noise": area(0.6, 1000, 900),
    "top-1": area(0.52, 50, 60),
    "top-2": area(0.65, 10, 12),
}


def test_a_defence_stops_a_leak_only_where_no_leak_is_found_under_it() -> None:
    trials = [trial(auc=area(0.75, 500, 480))]
    trials += [trial(defence=name, auc=figure) for name, figure in DEFENDED.items()]
    findings = find(run(trials=trials, models=[], ledger=[], scenario={}))
    assert sentences(findings)[-1] == (
        "On the one provider that leaks without a defence, argmax stops the leak (at most 0.036 beyond "
        "chance); noise (the attack keeps 40.0 % of its lead over chance) and top-1 (the attack keeps 8.0 % "
        "of its lead over chance, which may be luck) weaken it; rounded hardly changes it (the attack keeps "
        "98.0 % of its lead over chance); it cannot be told whether top-2 changes it (the attack keeps "
        "60.0 % of its lead over chance, which may be luck)."
    )
    shown = {tile.label: (tile.figure, tile.tone) for tile in tiles(findings)}
    assert shown["Strongest defence of “gender”"] == ("argmax", "good")
    assert shown["Weakest defence of “gender”"] == ("rounded", "bad")


def test_a_defence_weakens_a_leak_where_its_interval_ends_below_the_other() -> None:
    """Of few records the intervals are longer towards one half: what counts is where the leak of .97 ends
    below, and that of .87 above."""
    trials = [trial(auc=area(0.97, 40, 40)), trial(defence="noise", auc=area(0.87, 40, 40))]
    findings = find(run(trials=trials, models=[], ledger=[], scenario={}))
    assert [effect.kind for effect in effects(findings)] == ["weakens"]


def test_of_several_providers_the_one_that_leaks_most_is_told_and_the_others_are_counted() -> None:
    areas = (0.6, 500, 480), (0.7, 500, 480), (0.57, 15, 25), (0.5, 2000, 1900), (0.52, 250, 260)
    providers = [
        trial(auc=area(*each)).model_copy(update={"provider": f"bank-{number}"})
        for number, each in enumerate(areas)
    ]
    for chosen, expected in (
        (
            providers[:4],
            "2 of 4 honest providers leak although nobody meant them to, most of all “bank-1” (it cannot be "
            "told of 1 and no leak was found at 1): ",
        ),
        (
            providers[1:4],
            "One of 3 honest providers leaks although nobody meant it to, “bank-1” (it cannot be told of 1 "
            "and no leak was found at 1): ",
        ),
        (
            providers[2:4],
            "Whether the honest provider “bank-2” leaks cannot be told (no leak was found at 1): ",
        ),
        (providers[3:4], "The honest provider “bank-3” leaks little: "),
        (
            providers[3:],
            "No leak was found at any of 2 honest providers, the most exposed of which is “bank-4”: ",
        ),
    ):
        findings = find(run(trials=chosen, models=[], ledger=[], scenario={}))
        assert sentences(findings)[0].replace("\N{NO-BREAK SPACE}", " ").startswith(expected)


def test_where_nothing_is_certain_to_leak_no_defence_is_said_to_do_anything() -> None:
    for undefended, said in (
        (area(0.51, 2000, 1900), "No leak was found without a defence, so no defence had anything to stop."),
        (
            area(0.57, 15, 25),
            "What the defences change cannot be told, since it is not certain that anything leaks "
            "without one.",
        ),
    ):
        trials = [trial(auc=undefended), trial(defence="argmax", auc=area(0.5, 2000, 1900))]
        assert sentences(find(run(trials=trials, models=[], ledger=[], scenario={})))[-1] == said


def test_what_stops_one_leak_is_not_said_to_weaken_another() -> None:
    """A label tells nothing of the gender, and as much as probabilities to whoever copies the model."""
    trials = [trial(defence=name, auc=area(value)) for name, value in (("none", 0.75), ("argmax", 0.505))]
    for defence, fidelity in (("none", 0.96), ("argmax", 0.955)):
        copied = trial(defence=defence, attack="copy", fidelity=beyond(fidelity, 0.01), fidelity_majority=0.5)
        trials.append(copied.model_copy(update={"kind": "extraction", "sensitive": "the model's decisions"}))
    findings = find(run(trials=trials, models=[], ledger=[], scenario={}))
    assert [each for each in sentences(findings) if "argmax" in each] == [
        "On the one provider that leaks without a defence (by AUC), argmax stops the leak (at most 0.023 "
        "beyond chance).",
        "On the one provider that leaks without a defence (by fidelity), argmax hardly changes the leak (the "
        "attack keeps 98.9 % of its lead over chance).",
    ]


def test_what_a_defence_leaves_is_measured_from_the_control() -> None:
    """An AUC of 0.62 is far beyond chance, and no further than what the true label tells."""
    trials = [trial(auc=area(0.75), beyond_imputation=beyond(0.15, 0.02))]
    trials += [
        trial(defence=name, auc=area(value), beyond_imputation=beyond(more, 0.03))
        for name, value, more in (("argmax", 0.62, 0.02), ("noise", 0.69, 0.09))
    ]
    findings = find(run(trials=trials, models=[], ledger=[], scenario={}))
    assert sentences(findings)[-1] == (
        "On the one provider that leaks without a defence, argmax stops the leak (at most 0.050 beyond its "
        "control); noise weakens it (the attack keeps 60.0 % of its lead over its control)."
    )
