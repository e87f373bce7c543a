"""A package of the user's own brings a paper, as ``docs/extend/paper.md`` shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leakrange.scenario.language import parse
from tests.embedded import COMMAND
from tests.papers.tried import tried_by
from tests.plugins import install_project

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "rounded"
SCENARIOS = """
import json
from leakrange.papers import papers
from leakrange.papers.trials import batches
paper = papers["rounded"](papers["rounded"].Settings())
print(json.dumps([batch.scenario("rounded") for batch in batches(paper.wanted(paper.rows(), 1))]))
"""


def test_the_page_shows_every_file_of_the_package() -> None:
    shown = re.findall(r'(?m)^--8<-- "rounded/(.*)"$', (ROOT / "docs" / "extend" / "paper.md").read_text())
    files = (path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file())
    assert sorted(shown) == sorted(str(path) for path in files if path.stem != "__init__")


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that finds the package."""
    shutil.copytree(EXAMPLE, tmp_path / "project")
    return os.environ | {"PYTHONPATH": install_project(tmp_path / "project")}


def test_every_row_is_a_trial_of_a_sound_scenario(installed: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", SCENARIOS], env=installed, capture_output=True, check=True)
    scenarios = [parse(each) for each in json.loads(done.stdout)]
    assert sum(len(tried_by(each)) for each in scenarios) == 5
    assert {str(defence) for each in scenarios for defence in each.defences.values()} == {
        "[]",
        *(f"[{{'round': {{'decimals': {decimals}}}}}]" for decimals in (0, 1, 2)),
    }


def test_its_page_has_the_printed_figures_and_the_texts_of_the_sheet(
    installed: dict[str, str], tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    command = [COMMAND, "reproduce", "rounded", "--show", "--set", "epochs=3", "--out", str(page)]
    subprocess.run(command, env=installed, cwd=tmp_path, check=True, capture_output=True)
    text = page.read_text()
    assert text.startswith("# Do rounded outputs tell less?\n")
    assert "- digits: digits, 3 epochs; the paper's: MNIST, 50\n" in text
    assert (
        "| logits | 2 decimals | 97.20 ± 0.30 | not measured with this version | – | 92.00 ± 0.80 |" in text
    )
    assert "The paper draws a curve and prints no figure.\n\n| outputs | rounding | honesty: paper |" in text
    assert "| majority | seeds |" in text
