"""A range in which a package of the user's own is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded import EmbeddedRange
from tests.plugins import install_project
from tests.range.conftest import Controller


@pytest.fixture
def plugged(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Controller]:
    """A range in ``tmp_path / "range"``, every process of which has the package that the test's module names
    as ``EXAMPLE``."""
    package = tmp_path / "package"
    shutil.copytree(request.module.EXAMPLE, package)
    monkeypatch.setenv("PYTHONPATH", install_project(package))
    standing = EmbeddedRange(tmp_path / "range")
    standing.up()
    controller = Controller(standing)
    try:
        yield controller
    finally:
        controller.client.close()
        standing.down()
