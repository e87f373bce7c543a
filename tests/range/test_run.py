"""A whole run through every party: what it finds, what it costs, and what is left of it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.databases import Databases
from tests.embedded import EmbeddedRange
from tests.range.conftest import (
    FIRST,
    Controller,
    Finished,
    another,
    rounded,
    scenario,
    second,
    significant,
    value,
)

pytestmark = pytest.mark.timeout(900)
JUDGED = ("metrics", "views", "victims")


def test_every_trial_is_there_once_with_its_figures(first: Finished) -> None:
    first.check(4)
    assert set(first.trials) == {
        f"{cell}.b192"
        for cell in (
            "honest-s0.none.outside.aware",
            "honest-s0.label-only.outside.aware",
            "curious-s0.none.inside.unaware",
            "curious-s0.label-only.inside.unaware",
        )
    }
    for trial in first.trials.values():
        assert value(trial, "honesty") > 0.9
        assert value(trial, "majority") == pytest.approx(0.5, abs=0.1)
        assert sum(map(sum, trial["views"]["confusion"])) == trial["victims"]


def test_a_curious_provider_sees_what_argmax_hides(first: Finished) -> None:
    """Parity tells a little of itself: 3 of 5 odd digits are large. So no defence gets below 60 %."""
    seen = first.trials["curious-s0.none.inside.unaware.b192"]
    hidden = first.trials["curious-s0.label-only.inside.unaware.b192"]
    assert value(seen, "curiosity") > 0.8
    assert value(hidden, "curiosity") < 0.72
    assert seen["metrics"]["honesty"] == hidden["metrics"]["honesty"]
    outside = first.trials["honest-s0.label-only.outside.aware.b192"]
    assert value(outside, "curiosity") < 0.72


def test_every_key_has_paid_for_exactly_what_it_was_answered(first: Finished) -> None:
    spent = {entry["name"].removeprefix(f"{first.id}."): entry["spent"] for entry in first.results["ledger"]}
    assert spent == {
        "attacker.honest-s0.none.q0": 192,
        "attacker.honest-s0.label-only.q0": 192,
        "users.honest-s0.none.u0": 192,
        "users.honest-s0.label-only.u0": 192,
        "users.curious-s0.none.u0": 192,
        "users.curious-s0.label-only.u0": 192,
    }


def test_the_record_tells_how_the_models_were_trained(first: Finished) -> None:
    models = {model["provider"]: model for model in first.results["models"]}
    assert set(models) == {"honest", "curious"}
    for model in models.values():
        assert len(model["history"]) == 8
        assert model["train_seconds"] > 0
        assert sum(model["entropy_histogram"]) == 192
        assert 0 <= model["entropy_mean"] <= model["entropy_max"] == 1.0
    assert first.results["scenario_yaml"] == FIRST
    assert first.results["seconds"] > 0


def test_report_and_table_come_from_it(first: Finished, controller: Controller) -> None:
    page = controller.ask("GET", f"/v1/runs/{first.id}/report").text
    assert page.count("<svg") >= 4
    assert "label-only" in page
    table = controller.ask("GET", f"/v1/runs/{first.id}/results?format=csv").text
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(table))}
    assert set(rows) == set(first.trials)
    for name, trial in first.trials.items():
        assert float(rows[name]["curiosity"]) == pytest.approx(value(trial, "curiosity"))


def test_the_same_again_trains_nothing_and_asks_nobody(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    before = _artifacts(embedded_range)
    again = controller.run(FIRST)
    again.check(4)
    assert _artifacts(embedded_range) == before
    assert not [event for event in again.events if event["event"] == "job.progress"]
    for probe in ("honest-s0.none.q0", "honest-s0.label-only.q0"):
        assert (again.account("attacker", probe)["spent"], again.account("attacker", probe)["distinct"]) == (
            0,
            0,
        )
    for name, trial in first.trials.items():
        assert again.trials[name] == trial


def test_two_runs_at_once_pay_once_for_what_both_want(first: Finished, controller: Controller) -> None:
    text = scenario("twice", defences=rounded(1))
    runs = [controller.start(text), controller.start(text)]
    both = [controller.finished(run) for run in runs]
    for run in both:
        run.check(2)
    spent = [run.account("attacker", "honest-s0.round-1.q0")["spent"] for run in both]
    assert sum(spent) == 192
    assert both[0].trials == both[1].trials


def test_a_run_on_postgresql_finds_and_pays_the_same(
    first: Finished, embedded_range: EmbeddedRange, databases: Databases, tmp_path: Path
) -> None:
    curious = embedded_range.record.url("provider-curious")
    settings = second(embedded_range, tmp_path, curious=curious, database_url=databases.empty("postgresql"))
    defences = {"none": [], "label-only": ["argmax"], **significant(4)}
    with another(embedded_range, settings) as other:
        run = other.run(scenario("on-postgresql", defences=defences))
        report = other.ask("GET", f"/v1/runs/{run.id}/report").text
    run.check(6)
    for name, trial in first.trials.items():
        assert {key: run.trials[name][key] for key in JUDGED} == {key: trial[key] for key in JUDGED}
    assert run.account("attacker", "honest-s0.figures-4.q0")["spent"] == 192
    assert run.account("attacker", "honest-s0.none.q0")["spent"] == 0  # what was answered before
    assert "figures-4" in report


def test_averaging_sees_through_fresh_noise_but_not_through_sticky_noise(
    first: Finished, controller: Controller
) -> None:
    scales = {"a": 6.0, "b": 6.01, "c": 6.02}  # three draws of as good as the same noise
    noises = {f"noisy-{draw}": [{"noise": {"scale": scale}}] for draw, scale in scales.items()}
    noises |= {
        f"sticky-{draw}": [{"noise": {"scale": scale, "sticky": True}}] for draw, scale in scales.items()
    }
    outside = {"kind": "attribute-inference", "providers": "curious", "knowledge": "averaging"}
    run = controller.run(scenario("averaging", defences=noises, attacks={"outside": outside}, budgets=[384]))
    run.check(6)
    trials = {noise: run.trials[f"curious-s0.{noise}.outside.averaging.b384"] for noise in noises}
    assert {trial["spent"] for trial in trials.values()} == {384}
    # The noise is drawn anew in every range, and one draw of 48 records says little: in 13 draws the AUC of
    # averages was 0.24 above that of sticky noise, with a standard deviation of 0.09.
    averaged, stuck = (
        sum(value(trials[f"{noise}-{draw}"], "auc") for draw in scales) / len(scales)
        for noise in ("noisy", "sticky")
    )
    assert averaged > stuck + 0.05
    spent = {entry["name"].removeprefix(f"{run.id}."): entry["spent"] for entry in run.results["ledger"]}
    for noise in noises:
        asked = [spent[f"attacker.curious-s0.{noise}.q{draw}"] for draw in range(1, 9)]
        assert asked == [48] * 8  # a part of the records, each eight times
    assert [spent[f"users.curious-s0.noisy-a.u{draw}"] for draw in range(8)] == [192] * 8
    assert "users.curious-s0.sticky-a.u1" not in spent  # uploads that are all the same are waited for once


def _artifacts(embedded: EmbeddedRange) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in embedded.folder.models.rglob("*") if path.is_file()}
