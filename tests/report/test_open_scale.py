"""What a run says whose leakage is in decibels: a scale without an end, read against what else is known."""

from __future__ import annotations

import pytest

from leakrange.metrics import Estimate, metrics
from leakrange.report import render, to_csv
from leakrange.report.answer import sentences
from leakrange.report.caveats import caveats
from leakrange.report.charts.training import histories
from leakrange.report.effects import effects
from leakrange.report.findings import find, gap
from leakrange.report.tiles import tiles
from leakrange.scenario.results import RunResults, TrialResult
from tests.report.build import DEFENCES as CHAINS
from tests.report.build import measured, model
from tests.report.build import trials as guesses
from tests.report.reconstructed import MEAN, UTILITY, decibels, psnr, reconstructed, trials


def said(results: RunResults) -> list[str]:
    return [sentence.replace("\N{NO-BREAK SPACE}", " ") for sentence in sentences(find(results))]


def changed(**figures: float | Estimate) -> list[TrialResult]:
    return [measured(each, **figures) for each in trials()]


HONEST = psnr("honest", "none", "outside", "unaware")
VICIOUS = psnr("vicious", "none", "inside", "unaware")


def test_a_vicious_provider_is_told_in_words_beside_an_honest_one() -> None:
    honest, vicious, _ = said(reconstructed())
    claim = (
        "the strongest attack ({}, unaware, budget 1,000) brings "
        "samples back with a PSNR of {:.2f} dB (SSIM {:.3f}; 95 % interval"
    )
    assert honest.startswith("The honest provider “honest” leaks although nobody meant it to: ")
    assert claim.format("outside", HONEST, HONEST / 24) in honest
    assert f"{HONEST - MEAN:.2f} dB above the PSNR of the mean picture ({MEAN:.2f} dB)" in honest
    assert claim.format("inside", VICIOUS, VICIOUS / 24) in vicious
    assert (
        f" and {VICIOUS - HONEST:.2f} dB above the {HONEST:.2f} dB that the strongest attack reaches at the "
        "honest provider “honest”, at an honesty of 98.2 %, 0.3 points below the honest provider’s"
    ) in vicious
    assert "gain" not in vicious  # a scale without an end has none


def test_of_several_honest_providers_the_most_exposed_is_the_rival() -> None:
    """Else a provider would look vicious that gives away no more than others."""
    for shift in (-3.0, 3.0):
        other = [
            measured(each, psnr=decibels(each.metrics["psnr"].value + shift)).model_copy(
                update={"provider": "another", "id": f"another-{each.id}"}
            )
            for each in trials()
            if each.provider == "honest"
        ]
        name, most = ("honest", HONEST) if shift < 0 else ("another", HONEST + shift)
        vicious = said(reconstructed(*trials(), *other))[1]
        beyond = f"{VICIOUS - most:.2f} dB above the {most:.2f} dB"
        assert f"{beyond} that the strongest attack reaches at the honest provider “{name}”" in vicious


def test_a_defence_that_leaves_nothing_but_the_decision_is_named() -> None:
    """9.6 dB under argmax are the 9.3 dB of the mean picture of a class; 12.2 dB when rounded are more."""
    *_, last = said(reconstructed(*changed(psnr_class_mean=9.3)))
    assert last == (
        "Under argmax (PSNR 9.60 dB, PSNR of the class's mean picture 9.30 dB) the strongest attack does no "
        "better than somebody who sees the decisions alone."
    )
    *_, last = said(reconstructed(*changed(psnr_class_mean=11.9)))
    assert last.startswith("Under rounded (PSNR 12.20 dB, ")
    assert " and argmax (PSNR 9.60 dB, " in last
    for floor in (8.9, 30.0):  # more is left; nobody does better undefended
        assert "decisions alone" not in "".join(said(reconstructed(*changed(psnr_class_mean=floor))))
    assert "decisions alone" not in "".join(said(reconstructed()))


@pytest.mark.parametrize(
    ("defence", "attack", "knowledge"),
    [("softmax", "outside", "aware"), ("noise", "outside", "averaging"), ("argmax", "outside", "aware")],
)
def test_each_defence_is_told_by_what_it_leaves_at_most(defence: str, attack: str, knowledge: str) -> None:
    rest = psnr("vicious", defence, attack, knowledge)
    sentence = said(reconstructed())[-1]
    less = f"{VICIOUS - rest:.2f} dB less"
    assert f"{defence} (leaves PSNR {rest:.2f} dB and SSIM {rest / 24:.3f} at most, {less}, at " in sentence
    cost = 100 * (UTILITY["none"][0] - UTILITY[defence][0])
    worth = f"at a cost of {cost:.1f} points of honesty" if cost else "at no cost in honesty"
    assert worth in sentence.partition(f"{defence} (")[2].partition(")")[0]


def test_the_strongest_defence_is_the_one_that_leaves_least() -> None:
    """Argmax takes little from the honest provider, where there is little to take, and yet leaves least."""
    found = [
        measured(each, psnr=decibels(MEAN + 6.2))
        if (each.provider, each.defence) == ("honest", "argmax")
        else each
        for each in trials()
    ]
    shown = {tile.label: tile.figure for tile in tiles(find(reconstructed(*found)))}
    hidden = "what users’ samples look like"
    extremes = [shown[f"{word} defence of {hidden}"] for word in ("Strongest", "Weakest")]
    assert extremes == ["argmax", "noise"]


def test_the_words_are_those_of_decibels() -> None:
    """What is certainly less than a decibel above the mean picture is stopped; nine tenths of the way to it
    is hardly changed."""
    level = {"none": 19.8, "softmax": 19.0, "rounded": 12.0, "noise": MEAN + 0.5, "argmax": MEAN}
    found = [
        measured(each, psnr=decibels(level[each.defence])) for each in trials() if each.provider == "vicious"
    ]
    kinds = {effect.defence: effect.kind for effect in effects(find(reconstructed(*found)))}
    assert kinds == {"softmax": "hardly", "rounded": "weakens", "noise": "stops", "argmax": "stops"}


def test_less_than_one_decibel_above_the_mean_picture_is_little() -> None:
    for level, words in ((MEAN + 0.6, "leaks little"), (MEAN + 1.1, "leaks although")):
        first, second, last = said(reconstructed(*changed(psnr=decibels(level))))
        assert words in first
        assert second.startswith(
            f"The vicious provider “vicious” {'leaks little' if 'little' in words else 'l'}"
        )
        assert "and not clearly different from the" in second
        assert ("No leak was found without a defence" in last) == ("little" in words)


def test_without_a_chance_level_it_is_not_called_little() -> None:
    bare = [
        each.model_copy(update={"metrics": {k: v for k, v in each.metrics.items() if k != "psnr_mean"}})
        for each in trials()
    ]
    findings = find(reconstructed(*bare))
    assert {gap(row) for row in findings.best.values()} == {None}
    honest, vicious, last = said(reconstructed(*bare))
    assert honest.startswith("Whether the honest provider “honest” leaks cannot be told: ")
    assert vicious.startswith("Whether the vicious provider “vicious” learns what it should not cannot be ")
    assert f"{VICIOUS - HONEST:.2f} dB above the {HONEST:.2f} dB" in vicious
    assert last == "What the defences change cannot be told: no chance level of PSNR was measured."
    shown = {tile.label: tile.figure.replace("\N{NO-BREAK SPACE}", " ") for tile in tiles(findings)}
    assert (
        shown["Cannot tell whether “honest” gives away what users’ samples look like"] == f"{HONEST:.2f} dB"
    )


def test_guesses_and_reconstructions_in_one_run_are_told_apart() -> None:
    """Decibels and points of accuracy are never put together."""
    both = [each for each in guesses() if each.data == "digits"] + list(trials())
    told = said(
        reconstructed(*both).model_copy(update={"scenario": {"defences": {name: [] for name in CHAINS[:1]}}})
    )
    points, decibels = told[-2:]
    assert "argmax stops the leak (at most" in points
    assert " dB" not in points
    assert "argmax (leaves PSNR 9.60 dB" in decibels


def test_the_table_and_the_page_hold_every_figure() -> None:
    results = reconstructed()
    header, first, *_ = to_csv(results).split("\r\n")
    cells = dict(zip(header.split(","), first.split(","), strict=True))
    assert float(cells["psnr"]) == results.trials[0].metrics["psnr"].value
    assert "base64" not in first
    assert RunResults.model_validate_json(results.model_dump_json()) == results
    page = render(results).replace("\N{NO-BREAK SPACE}", " ")
    shades = page.partition('class="glance"')[2].partition("</table>")[0].split("--v:")[1:]
    for shade in shades:
        level = float(shade.partition("</b> ")[2].partition(" dB")[0])
        assert float(shade[:6]) == pytest.approx((level - MEAN) / (VICIOUS - MEAN), abs=0.0005)
    assert len(shades) == 10
    assert any(
        "2.00 dB and 1.00 dB" in said.replace("\N{NO-BREAK SPACE}", " ") for said in caveats(find(results))
    )
    assert metrics["psnr"].best is None


def test_training_is_drawn_in_the_units_of_its_measures() -> None:
    history = [
        {"epoch": 1.0, "loss": 2.5, "honesty": 0.9, "psnr": level, "seconds": 3.0} for level in (9.0, 17.5)
    ]
    trained = model("digits", "honest", 0).model_copy(update={"data": "drawn-digits", "history": history})
    results = reconstructed().model_copy(update={"models": [trained]})
    drawn = {
        picture.title.partition(": ")[2]: picture for picture in histories(find(results), "drawn-digits")
    }
    assert drawn.keys() == {"accuracies", "losses", "PSNR"}
    assert "at the last epoch psnr 17.50\N{NO-BREAK SPACE}dB" in drawn["PSNR"].label
    assert "10\N{NO-BREAK SPACE}dB" in drawn["PSNR"].svg
