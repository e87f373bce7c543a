"""A run with more trials than fit into one report: summed up by the database, shown in part, written out
whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from statistics import mean, stdev

import httpx
import pyarrow
import pytest

from leakrange.metrics import Estimate
from leakrange.scenario.bounds import MAX_AT_ONCE
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import Api, problem, serve
from tests.controller.test_views import put
from tests.report.build import run as built

SEEDS = 1200


def trial(provider: str, defence: str, budget: int, seed: int) -> TrialResult:
    auc = 0.5 + 0.01 * (budget % 7) + (0.2 if (provider, defence, budget) == ("p1", "noise", 50) else 0.0)
    auc += 0.00001 * (seed % 100)
    metrics = {"auc": Estimate(value=auc, low=auc - 0.01, high=auc + 0.01)}
    if seed % 2:
        metrics["nag"] = Estimate(value=0.1)
    return TrialResult(
        id=f"{provider}-s{seed}.{defence}.outside.unaware.b{budget}",
        kind="attribute", provider=provider, data="digits", behaviour="honest", release="logits",
        target="parity", sensitive="loop", defence=defence, attack="outside", knowledge="unaware",
        budget=budget, seed=seed, state="done", victims=20, spent=budget, metrics=metrics,
    )  # fmt: skip


ALL = [
    trial(provider, defence, budget, seed)
    for provider in ("p0", "p1", "p2")
    for defence in ("none", "noise")
    for budget in (20, 50, 90)
    for seed in range(SEEDS)
]


@pytest.fixture(scope="module")
def large(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[Api, str]]:
    yield from stood(settings(), ALL)


@pytest.fixture(scope="module")
def flat(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[Api, str]]:
    """A run with too many trials even at its largest budgets."""
    names = [f"p{place}" for place in range(9)]
    yield from stood(
        settings(), [trial(name, defence, 90, seed) for name in names for defence in ("none", "noise")
                     for seed in range(SEEDS)]
    )  # fmt: skip


def stood(mine: ControllerSettings, trials: list[TrialResult]) -> Iterator[tuple[Api, str]]:
    assert len(trials) > MAX_AT_ONCE
    scenario = {
        "defences": {"none": [], "noise": ["argmax"]},
        "attacks": {"outside": {"kind": "attribute-inference"}},
    }
    results: RunResults = built(trials=trials, models=[], scenario=scenario, summaries=[])
    with serve(mine) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield Api(client), put(mine, results)


def test_the_database_sums_it_up(large: tuple[Api, str]) -> None:
    api, run = large
    short = api.get(f"/v1/runs/{run}/overview")
    assert short["trials"] == {"done": len(ALL)}
    assert short["providers"] == dict.fromkeys(("p0", "p1", "p2"), 6 * SEEDS)
    assert list(short["defences"]) == ["none", "noise"]
    assert len(short["worst"]) == 6  # one of each provider behind each defence
    worst = short["worst"][0]
    assert (worst["provider"], worst["defence"], worst["cell"]) == ("p1", "noise", "unaware, 50, loop")
    values = [trial("p1", "noise", 50, seed).metrics["auc"].value for seed in range(SEEDS)]
    assert worst["seeds"] == SEEDS
    assert worst["mean"] == pytest.approx(mean(values), abs=1e-12)
    assert worst["deviation"] == pytest.approx(stdev(values), rel=1e-6)
    low, high = worst["interval"]
    assert (low + high) / 2 == pytest.approx(worst["mean"])
    assert "“p1” behind “noise”" in short["sentence"]


def test_its_verdict_is_that_of_the_largest_budgets(large: tuple[Api, str]) -> None:
    api, run = large
    views = api.get(f"/v1/runs/{run}/views")
    largest = 6 * SEEDS
    assert views["part"].startswith(
        f"This is about {largest:,} of the run’s {len(ALL):,} trials: those at the"
    )
    assert views["choices"]["providers"] == ["p0", "p1", "p2"]
    # At the largest budget all are alike; p1 leaks most at a smaller one, behind noise.
    [table] = views["glance"]
    assert [row["provider"] for row in table["rows"]] == ["p0", "p1", "p2"]
    auc = f"{mean(trial('p0', 'none', 90, seed).metrics['auc'].value for seed in range(SEEDS)):.3f}"
    assert {cell.split(" (")[0] for row in table["rows"] for cell in row["cells"]} == {auc}
    report = api.ask("GET", f"/v1/runs/{run}/report").text
    assert f"This is about {largest:,} of the run’s {len(ALL):,} trials" in report
    board = api.ask("GET", f"/runs/{run}/board").text
    assert f"This is about {largest:,} of the run’s {len(ALL):,} trials" in board


def test_what_is_too_much_is_shown_in_part_alone(flat: tuple[Api, str]) -> None:
    api, run = flat
    whole = problem(api.ask("GET", f"/v1/runs/{run}/views"), 409, "too-many-trials")
    assert f"{18 * SEEDS:,} trials" in whole["detail"]
    assert "?provider=" in whole["hint"]
    problem(api.ask("GET", f"/v1/runs/{run}/report"), 409, "too-many-trials")
    board = api.ask("GET", f"/runs/{run}/board").text
    assert f"/runs/{run}/board?provider=p0&amp;defence=none&amp;attack=outside" in board
    assert "goes furthest (unaware, 90, loop)" in board


def test_a_part_of_it_is_shown(large: tuple[Api, str]) -> None:
    api, run = large
    part = api.get(f"/v1/runs/{run}/views?provider=p1")
    assert part["part"] == f"This is about {6 * SEEDS:,} of the run’s {len(ALL):,} trials: provider “p1”."
    assert part["choices"] == {"providers": ["p0", "p1", "p2"], "defences": ["none", "noise"],
                               "attacks": ["outside"]}  # fmt: skip
    assert {row["provider"] for table in part["glance"] for row in table["rows"]} == {"p1"}
    report = api.ask("GET", f"/v1/runs/{run}/report?provider=p1&defence=noise")
    assert report.status_code == 200
    assert "p1" in report.text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("large", f"This is about {6 * SEEDS:,} of the run’s {len(ALL):,} trials"),
        ("flat", "goes furthest (unaware, 90, loop)"),
    ],
)
def test_its_page_says_what_leaks_and_of_what(
    request: pytest.FixtureRequest, name: str, sentence: str
) -> None:
    api, run = request.getfixturevalue(name)
    page = api.ask("GET", f"/runs/{run}")
    assert page.status_code == 200
    assert sentence in page.text
    assert "Left out: " in page.text


def test_it_is_written_out_whole_and_in_part(large: tuple[Api, str]) -> None:
    api, run = large
    text = api.ask("GET", f"/v1/runs/{run}/results?format=csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in rows] == [each.id for each in ALL]
    got = api.ask("GET", f"/v1/runs/{run}/results?format=arrow")
    assert got.headers["content-type"] == "application/vnd.apache.arrow.stream"
    table = pyarrow.ipc.open_stream(got.content).read_all()
    assert table.column_names == list(rows[0])
    assert table.column("id").to_pylist() == [each.id for each in ALL]
    assert table.column("auc_high").to_pylist() == [each.metrics["auc"].high for each in ALL]
    assert table.column("nag").to_pylist()[:2] == [None, 0.1]
    assert table.column("budget").type == pyarrow.int64()
    part = api.ask("GET", f"/v1/runs/{run}/results?format=arrow&provider=p2&defence=noise").content
    assert len(pyarrow.ipc.open_stream(part).read_all()) == 6 * SEEDS  # and the undefended ones
    problem(api.ask("GET", f"/v1/runs/{run}/results"), 409, "too-many-trials")
