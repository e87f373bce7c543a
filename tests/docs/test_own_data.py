"""The guide docs/guides/own-data.md, done as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.albums import album
from tests.data.tables import customers, write_rows
from tests.docs.blocks import blocks
from tests.docs.shell import commands
from tests.embedded import Done, leakrange

PAGE = "docs/guides/own-data.md"
CUSTOMERS = 200


def run(words: list[str], folder: Path) -> Done:
    done = leakrange(*words[1:], LEAKRANGE_DATA=str(folder / "data"))
    assert done.returncode == 0, (words, done.stderr)
    return done


def test_the_guide_leads_from_a_table_to_a_planned_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "customers.csv", customers(CUSTOMERS))
    pets = tmp_path / "pets"
    album(pets / "cats", 12, 1, "{:04d}.png")
    album(pets / "dogs", 12, 2, "{:04d}.png")
    rows = [
        {"file": f"{kind}/{i:04d}.png", "age": "old" if i % 3 else "young", "owner": i // 2 + n}
        for n, kind in enumerate(("cats", "dogs"))
        for i in range(1, 13)
    ]
    write_rows(tmp_path / "pets.csv", rows)
    page = blocks(PAGE)
    [scenario] = [block for block in page if block.language == "yaml"]
    (tmp_path / "mine.yaml").write_text(scenario.text)
    asked = [words for block in page if block.language == "sh" for words in commands(block.text)]
    printed = [run(words, tmp_path) for words in asked if words[0] == "leakrange"]
    assert [done for done in printed if "mine.yaml: what-my-model-tells, 2 models" in done.stderr]

    shown, *_ = [block for block in page if block.language == "text"]
    assert squeezed(shown.text) == squeezed(printed[0].stdout)


def squeezed(text: str) -> list[str]:
    """Its words: lines are folded at the width of the screen."""
    return text.split()
