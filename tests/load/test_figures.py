"""What benchmarks print of what they measured, and a judge of ledgers that is shown wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from load.bench.fleet import an_hour
from load.bench.harness import Figures
from load.bench.proxy import Case, rows_of
from load.exactness import exactly_paid


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
    rows = {row.side: row for row in rows_of(Case(1, "application/x-npy", 4), figures)}
    ours = rows["round"]
    assert (ours.cpu_to_nginx, ours.added_to_nginx, ours.cpu_of_other) == pytest.approx((2.0, 3.0, 0.25))
    assert (ours.added_p50, ours.added_p99, ours.per_core) == pytest.approx((3.0, 6.0, 1000.0))
    assert (rows["nginx"].cpu_to_nginx, rows["direct"].cpu_to_nginx) == (None, None)


def test_trials_are_told_by_the_hour() -> None:
    found = an_hour((40, 60.0), (30, 20.0))
    assert found == pytest.approx({"trials": 40, "an_hour": 2400.0, "trained": 5400.0})
