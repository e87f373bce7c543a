"""What benchmarks print of what they measured, and the judges of benchmarks and drills, which are shown what
is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from leakrange.load.bench import board, verdicts
from leakrange.load.bench.fleet import an_hour
from leakrange.load.bench.harness import Figures
from leakrange.load.bench.proxy import ProxyCase, rows_of
from leakrange.load.exactness import CASES, exactly_counted, exactly_paid
from leakrange.load.kill_drill import SAMPLES, mistakes


def account(name: str, spent: int, **more: int) -> dict[str, Any]:
    return {"id": name, "spent": spent, "held": 0, "reserved": 0, **more}


@pytest.mark.parametrize(
    ("accounts", "statuses", "exact"),
    [
        ([account("a", 7), account("b", 0)], {200, 429, 502}, True),
        ([account("a", 6), account("b", 0)], {200}, False),
        ([account("a", 8), account("b", 0)], {200}, False),
        ([account("a", 7), account("b", 1)], {200}, False),
        ([account("a", 7, held=2)], {200}, False),
        ([account("a", 7, reserved=1)], {200}, False),
        ([account("a", 7)], {200, 500}, False),
    ],
    ids=["exact", "underpaid", "overpaid", "for nothing", "held", "reserved", "HTTP 500"],
)
def test_a_ledger_is_exact_or_not(accounts: list[dict[str, Any]], statuses: set[int], exact: bool) -> None:
    assert exactly_paid(accounts, {"a": 7}, statuses) == exact


@pytest.mark.parametrize(
    ("name", "used", "exact"),
    [
        ("weighted", {"a": 14, "b": 6}, True),
        ("weighted", {"a": 6, "b": 14}, False),
        ("weighted", {"a": 13, "b": 7}, False),
        ("weighted", {"a": 14}, False),
        ("colluding", {"group": 5}, True),
        ("colluding", {"group": 6}, False),
        ("colluding", {"a": 2, "b": 3}, False),
        ("exact", {"a": 2, "b": 18}, True),
        ("exact", {"a": 2, "b": 17}, False),
        ("exact", {"a": 3, "b": 18}, False),
    ],
)
def test_a_limit_counts_every_key_and_all_that_it_allows(
    name: str, used: dict[str, int], exact: bool
) -> None:
    """Two samples of features, of seven units each, are one key's, three of softmax, of two, another's."""
    answered = Counter(
        {("a", "digits", "features"): 2, ("b", "digits", "softmax"): 3, ("b", "x", "logits"): 0}
    )
    [case] = [each for each in CASES if each.name == name]
    bound = 5 if name == "weighted" else 10
    assert exactly_counted(case, used, answered, keys=2, models=2, bound=bound) == exact


COUNTS = {"total": 99, "done": 99, "failed": 0}
PAID = {"spent": SAMPLES, "reserved": 0}


@pytest.mark.parametrize(
    ("run", "entry", "account", "planned", "told"),
    [
        ({}, {}, {}, 99, []),
        ({"state": "failed"}, {}, {}, 99, ["the run failed: out of disk"]),
        ({"jobs": {"fit": COUNTS | {"done": 98}}}, {}, {}, 99, ["jobs of kind fit"]),
        ({"jobs": {"fit": COUNTS | {"failed": 1}}}, {}, {}, 99, ["jobs of kind fit"]),
        ({}, {}, {}, 100, ["99 jobs, and 100 were planned"]),
        ({}, {"spent": SAMPLES + 4}, {}, 99, ["outside: spent, distinct"]),
        ({}, {"distinct": SAMPLES - 4}, {}, 99, ["outside: spent, distinct"]),
        ({}, {}, {"spent": SAMPLES + 4}, 99, ["outside: spent, distinct"]),
        ({}, {}, {"reserved": 4}, 99, ["outside: spent, distinct"]),
    ],
)
def test_a_run_ends_as_if_nobody_had_been_killed_or_not(
    run: dict[str, Any], entry: dict[str, int], account: dict[str, int], planned: int, told: list[str]
) -> None:
    view = {"state": "done", "error": "out of disk", "jobs": {"fit": COUNTS}} | run
    ledger = [{"name": "outside", "spent": SAMPLES, "distinct": SAMPLES} | entry]
    wrong = mistakes(view, ledger, [PAID | account], planned)
    assert len(wrong) == len(told)
    assert all(each.startswith(said) for each, said in zip(wrong, told, strict=True))


def test_a_page_may_be_slow_in_neither_way() -> None:
    fast = board.PageTimes(900.0, 950.0, 1000.0, 1500.0, 1999.0, 20.0, 3e4, 3e5)
    assert not board.slow(fast)
    assert board.slow(replace(fast, interactive=2000.0))
    assert board.slow(replace(fast, server=1000.0))


def test_one_null_run_of_twenty_may_say_that_something_leaks_and_hardly_more() -> None:
    """Of 1,000 runs 50, and two deviations of such a count: 63.8."""
    assert [verdicts.too_many(leaks, 1000) for leaks in (0, 50, 63, 64, 100)] == [
        False,
        False,
        False,
        True,
        True,
    ]


SPEND = """
from types import SimpleNamespace
from leakrange.load.query_budget import report, tally
for status, left in {answers}:
    tally.take(status, {{"RateLimit-Remaining": str(left), "RateLimit-Limit": "100"}}, 8)
environment = SimpleNamespace(process_exit_code=None)
report(environment)
print(environment.process_exit_code)
"""


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([(200, 4), (429, 0)], "None"),
        ([(200, 4), (500, 0), (429, 0)], "1"),
        ([(200, 4), (200, -4), (200, 4)], "1"),
    ],
)
def test_whoever_spends_a_budget_fails_by_any_other_answer_and_beyond_it(
    answers: list[tuple[int, int]], code: str
) -> None:
    """In a process of its own: Locust replaces what blocks in the one that imports it."""
    found = subprocess.run(
        [sys.executable, "-c", SPEND.format(answers=answers)], capture_output=True, text=True
    )
    assert found.stdout.splitlines()[-1:] == [code], found.stderr


def test_figures_of_a_hundred_requests() -> None:
    found = Figures.of([each / 1000 for each in range(1, 101)], seconds=4.0, cpu=0.5)
    assert (found.rate, found.cpu, found.p50, found.p99) == pytest.approx((25.0, 5.0, 50.5, 99.01))


def test_ratios_are_ours_to_the_others() -> None:
    figures = {
        "direct": [Figures(900.0, 0.0, 1.0, 2.0)],
        "nginx": [Figures(500.0, 0.5, 2.0, 4.0)],
        "against": [Figures(300.0, 4.0, 9.0, 9.0)],
        "round": [Figures(400.0, 1.0, 4.0, 8.0)],
    }
    rows = {row.side: row for row in rows_of(ProxyCase(1, "application/x-npy", 4), figures)}
    ours = rows["round"]
    assert (ours.cpu_to_nginx, ours.added_to_nginx, ours.cpu_of_other) == pytest.approx((2.0, 3.0, 0.25))
    assert (ours.added_p50, ours.added_p99, ours.per_core) == pytest.approx((3.0, 6.0, 1000.0))
    assert (rows["nginx"].cpu_to_nginx, rows["direct"].cpu_to_nginx) == (None, None)


def test_trials_are_told_by_the_hour() -> None:
    found = an_hour((40, 60.0), (30, 20.0))
    assert found == pytest.approx({"trials": 40, "an_hour": 2400.0, "trained": 5400.0})
