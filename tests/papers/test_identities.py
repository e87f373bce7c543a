"""Every row of every paper goes on being measured by the same trial, and its page reads as before."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from leakrange.papers import papers
from tests.papers.identities import WRITTEN, digests, settings

DIGESTS = yaml.safe_load(WRITTEN.read_text())


def test_every_paper_is_written_down() -> None:
    assert set(DIGESTS) == set(papers)


@pytest.mark.parametrize("which", ["usual", "quick", "other"])
@pytest.mark.parametrize("name", list(papers))
def test_a_paper_is_measured_as_before(name: str, which: str, tmp_path: Path) -> None:
    """Where a change is meant, write the digests anew."""
    assert digests(name, settings(name)[which], tmp_path) == DIGESTS[name][which]
