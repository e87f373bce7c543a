"""Trials that differ by seed alone become one row: mean, deviation and interval, as SciPy has them."""

from __future__ import annotations

import pytest
from scipy import stats

from leakrange.metrics import OverSeeds
from leakrange.scenario.gains import gain
from leakrange.scenario.results import Summary, TrialResult
from leakrange.scenario.summary import summarise


def trial(seed: int, curiosity: float | None, **fields: object) -> TrialResult:
    shared = {
        "provider": "p", "data": "digits", "behaviour": "curious/regularized", "release": "logits",
        "target": "parity", "sensitive": "loop", "defence": "none", "attack": "inside",
        "knowledge": "unaware", "budget": 100, "state": "done", "kind": "attribute",
    }  # fmt: skip
    figures = {} if curiosity is None else {"curiosity": {"value": curiosity}, "majority": {"value": 0.5}}
    own = {"id": f"t{seed}", "seed": seed, "metrics": figures}
    return TrialResult.model_validate(shared | own | fields)


def test_mean_deviation_and_interval_over_seeds() -> None:
    values = [0.91, 0.95, 0.87]
    [row] = summarise(trial(seed, value) for seed, value in enumerate(values))
    found = row.metrics["curiosity"]
    assert found.mean == pytest.approx(0.91)
    assert found.deviation == pytest.approx(stats.tstd(values))
    assert found.interval == pytest.approx(stats.t.interval(0.95, 2, 0.91, stats.sem(values)))
    assert (row.count, row.mean("majority"), row.mean("auc")) == (3, 0.5, None)


@pytest.mark.parametrize(("auc", "way"), [(0.75, 0.5), (0.5, 0.0), (0.31, 0.0), (1.0, 1.0)])
def test_an_attack_goes_a_part_of_the_way_from_chance_to_the_best_or_none(auc: float, way: float) -> None:
    assert gain(trial(0, None, metrics={"auc": {"value": auc}})) == pytest.approx(way)


def test_one_seed_has_a_mean_alone() -> None:
    [row] = summarise([trial(0, 0.9)])
    assert row.metrics["curiosity"] == OverSeeds(mean=0.9)


def test_only_finished_trials_count_and_a_cell_without_any_stays() -> None:
    rows = summarise(
        [trial(0, 0.9), trial(1, 0.1, state="failed"), trial(0, None, state="queued", defence="argmax")]
    )
    assert [(row.defence, row.count, row.mean("curiosity")) for row in rows] == [
        ("none", 1, 0.9),
        ("argmax", 0, None),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", "membership"), ("provider", "q"), ("data", "lfw"), ("behaviour", "honest"),
        ("release", "softmax"), ("target", "digit"), ("sensitive", "large"), ("defence", "argmax"),
        ("attack", "outside"), ("knowledge", "aware"), ("budget", 9),
    ],
)  # fmt: skip
def test_whatever_differs_but_the_seed_makes_another_row(name: str, value: object) -> None:
    rows = summarise([trial(0, 0.9), trial(1, 0.8, **{name: value}), trial(2, 0.7)])
    assert [row.count for row in rows] == [2, 1]
    assert getattr(rows[1], name) == value
    assert Summary.model_validate_json(rows[0].model_dump_json()) == rows[0]
