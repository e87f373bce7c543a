"""What is compared with what, by figures small enough to be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from leakrange.attacks.kinds import kinds
from leakrange.metrics import Estimate, Metric, metrics
from leakrange.report.answer import sentences
from leakrange.report.effects import effects
from leakrange.report.findings import Findings, Subject, find, gap
from leakrange.report.glance import by_other_seeds, glance
from leakrange.report.tiles import tiles
from leakrange.scenario.results import TrialResult
from tests.report.build import area, estimates, run
from tests.report.reconstructed import decibels


def trial(provider: str, seed: int, honesty: float, defence: str = "none", **more: Any) -> TrialResult:
    honest = provider.startswith("honest")
    fields: dict[str, Any] = {
        "id": f"{provider}-s{seed}.{defence}",
        "provider": provider,
        "data": "digits",
        "behaviour": "honest" if honest else "curious/parameterized",
        "release": "logits",
        "target": "parity",
        "sensitive": "loop",
        "defence": defence,
        "attack": "outside" if honest else "inside",
        "knowledge": "unaware",
        "budget": 100,
        "seed": seed,
        "state": "done",
        "kind": "attribute",
        "metrics": estimates({"honesty": honesty, "auc": area(0.55 if honest else 0.9)}),
    }
    return TrialResult.model_validate(fields | more)


def found(*trials: TrialResult) -> tuple[Findings, Mapping[str, Subject]]:
    findings = find(run(trials=list(trials)))
    return findings, {subject.provider: subject for subject in findings.subjects}


def test_a_curious_provider_is_compared_with_the_best_honest_one() -> None:
    """Else a poor rival would make curiosity look free of charge."""
    for rivals in (("honest-poor", "honest-good"), ("honest-good", "honest-poor")):
        worth = {"honest-poor": 0.80, "honest-good": 0.95}
        findings, subjects = found(
            *(trial(name, seed, worth[name]) for name in rivals for seed in (0, 1)),
            *(trial("curious", seed, 0.9) for seed in (0, 1)),
        )
        reference = findings.reference(subjects["curious"])
        assert reference is not None
        assert reference.provider == "honest-good"


def test_honesty_is_compared_seed_by_seed() -> None:
    """Seeds differ by more than providers do, and each has lost another: what is common is seeds 1 and 3."""
    findings, subjects = found(
        trial("honest", 0, 0.90, state="failed"),
        trial("honest", 1, 0.70),
        trial("honest", 2, 0.50),
        trial("honest", 3, 0.96),
        trial("curious", 3, 0.93),  # in whatever order they come
        trial("curious", 0, 0.88),
        trial("curious", 1, 0.68),
        trial("curious", 2, 0.48, state="failed"),
    )
    row, reference = findings.open(subjects["curious"]), findings.open(subjects["honest"])
    assert row is not None
    assert reference is not None
    difference = findings.utility_difference(row, reference)
    assert difference is not None
    assert difference.mean == pytest.approx((-0.02 - 0.03) / 2)
    assert difference.deviation == pytest.approx(0.01 / 2**0.5)


def test_providers_that_share_no_seed_are_not_compared() -> None:
    findings, subjects = found(trial("honest", 0, 0.9), trial("curious", 1, 0.8))
    row, reference = findings.open(subjects["curious"]), findings.open(subjects["honest"])
    assert row is not None
    assert reference is not None
    assert findings.utility_difference(row, reference) is None


def test_attacks_of_all_kinds_are_found_each_by_its_own_metric() -> None:
    """A reconstruction has no attribute to guess: it is judged in decibels beyond the mean picture."""
    leaks = {"psnr": decibels(16.0), "psnr_mean": 10.0, "honesty": 0.9}
    findings, _ = found(
        trial("honest", 0, 0.9),
        *(
            trial(
                "honest", 0, 0.9, defence, kind="reconstruction", sensitive="sample", metrics=estimates(own)
            )
            for defence, own in (("none", leaks), ("argmax", leaks | {"psnr": decibels(14.5)}))
        ),
    )
    guessed, samples = findings.subjects
    assert (guessed.leakage, samples.leakage) == ("auc", "psnr")
    row = findings.best[samples, "none"]
    assert (gap(row), findings.way(row)) == (pytest.approx(6.0), pytest.approx(6.0 / 20))
    assert findings.leaking() == [guessed, samples]
    [effect] = effects(findings)
    assert effect.kept == pytest.approx((0.75, 0.75))


def test_a_metric_that_falls_with_leakage_is_read_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of two attacks is the one with the smaller error, though its figure is the lower one."""

    class Samples(kinds["attribute"]):
        leakage = "distance"

    error = Metric("distance", "distance", "share", "leakage", higher=False, chance=0.8)
    monkeypatch.setitem(kinds._entries, "sample", Samples)
    monkeypatch.setitem(metrics._entries, "distance", error)
    findings, subjects = found(
        *(
            trial("honest", 0, 0.9, chain, attack=name, kind="sample", metrics={"distance": value})
            for chain, name, value in (
                ("none", "near", Estimate(value=0.2, low=0.15, high=0.27)),
                ("none", "far", Estimate(value=0.7, low=0.65, high=0.75)),
                ("argmax", "near", Estimate(value=0.79, low=0.77, high=0.82)),
            )
        )
    )
    row = findings.open(subjects["honest"])
    assert row is not None
    assert row.attack == "near"
    assert (gap(row), findings.way(row)) == (pytest.approx(0.6), pytest.approx(0.6))
    assert "argmax stops the leak (at most 3.0\u00a0points beyond chance" in sentences(findings)[-1]
    [rows] = glance(findings).values()
    cell = rows[0].cells[0]
    assert cell is not None
    assert "distance 20.0\u00a0% (60.0\u00a0points below chance (80.0\u00a0%))" in cell.full
    [tile] = [tile for tile in tiles(findings) if "“honest” gives away" in tile.label]
    assert tile.figure == "20.0\u00a0%"
    assert tile.beside.endswith(
        "(95 % interval 15.0 to 27.0\u00a0%, 1\u00a0seed), 60.0\u00a0points below guessing (80.0\u00a0%)"
    )


def test_an_attack_is_chosen_by_the_seeds_that_do_not_count() -> None:
    """Worked by hand: the others choose "b" for seed 0 (its 1.32 against 1.0), and "a" for the two others,
    though "b" has the higher mean of the three. A seed that one of the attacks lacks counts for none."""
    figures = {"a": (0.9, 0.5, 0.5), "b": (0.6, 0.62, 0.7)}
    trials = [
        trial("honest", seed, 0.9, attack=name, id=f"{name}{seed}", metrics={"auc": area(value)})
        for name, values in figures.items()
        for seed, value in enumerate(values)
    ]
    findings, subjects = found(*trials, trial("honest", 3, 0.9, attack="a", metrics={"auc": area(0.99)}))
    chosen = by_other_seeds(subjects["honest"], "none", findings)
    assert chosen is not None
    assert chosen.mean == pytest.approx((0.6 + 0.5 + 0.5) / 3)
    [cell] = next(iter(glance(findings).values()))[0].cells
    assert cell is not None
    assert cell.figure == "0.640"  # of "b", which alone is certain
    assert cell.full.endswith("by the attack that is strongest on the other seeds 0.533 ±\u00a00.058")
    once, subjects = found(trial("honest", 0, 0.9))
    assert by_other_seeds(subjects["honest"], "none", once) is None


def test_the_other_seeds_choose_the_lower_figure_of_a_metric_that_falls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = Metric("auc", "distance", "share", "leakage", higher=False, chance=0.8)
    monkeypatch.setitem(metrics._entries, "auc", error)
    figures = {"a": (0.9, 0.5), "b": (0.6, 0.7)}
    findings, subjects = found(
        *(
            trial("honest", seed, 0.9, attack=name, metrics={"auc": area(value)})
            for name, values in figures.items()
            for seed, value in enumerate(values)
        )
    )
    chosen = by_other_seeds(subjects["honest"], "none", findings)
    assert chosen is not None
    assert chosen.mean == pytest.approx((0.9 + 0.7) / 2)  # each time the other attack would have been better
