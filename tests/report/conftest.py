"""The finished run and its page, made once for all tests of the report."""

from __future__ import annotations

import pytest

from leakrange.report import render
from leakrange.scenario.results import RunResults
from tests.report.build import run


@pytest.fixture(scope="session")
def results() -> RunResults:
    return run()


@pytest.fixture(scope="session")
def page(results: RunResults) -> str:
    return render(results)
