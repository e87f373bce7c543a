"""In continuous integration nothing is skipped without a word: what a test needs is there, or the run is red.

Hooks of pytest; `tests/conftest.py` passes them on.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]

REAL_DATA = "real data set"
"""How every reason begins for which a test of real data is skipped."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _judge(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _judge(report)
    return report


def _judge(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a failure of what was skipped. Data may be missing where nobody has said that they are there."""
    if not report.skipped or not os.environ.get("CI"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if reason.startswith(REAL_DATA) and not os.environ.get("LEAKRANGE_DATA"):
        return
    report.outcome = "failed"
    report.longrepr = f"skipped, though CI has what it needs: {reason}"
