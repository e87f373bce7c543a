"""The notebooks run against a range, and show what their texts say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.blocks import ROOT
from tests.embedded import EmbeddedRange

NOTEBOOKS = ROOT / "docs" / "notebooks"


@pytest.fixture
def run(embedded_range: EmbeddedRange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a notebook; gives what its cells printed, and the charts that they drew."""
    monkeypatch.setenv("LEAKRANGE_STATE", str(embedded_range.root))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shutil.copytree(NOTEBOOKS, tmp_path / "notebooks")

    def made(name: str) -> tuple[str, list[str]]:
        notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
        where = {"metadata": {"path": str(tmp_path / "notebooks")}}
        NotebookClient(notebook, timeout=200, kernel_name="python3", resources=where).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
        shown = [output["data"] for output in outputs if "data" in output]
        return printed, [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]

    return made


def executed(notebook: Any) -> list[Any]:
    """The cells that hold what a run left there."""
    return [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]


def test_the_repository_holds_no_outputs() -> None:
    names = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    assert names == {"first-run"}
    for name in names:
        notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
        assert executed(notebook) == [], name
        code = next(cell for cell in notebook.cells if cell.cell_type == "code")
        code.outputs = [nbformat.v4.new_output("stream", text="50 samples")]
        assert executed(notebook) == [code]


def test_a_first_run(run: Any, tmp_path: Path) -> None:
    printed, [chart] = run("first-run")
    rows = re.findall(r"(?m)^(\S+) +(\d+) samples  AUC (0\.\d+)  honesty ([\d.]+)%$", printed)
    assert [(defence, budget) for defence, budget, _, _ in rows] == [
        (defence, budget) for defence in ("none", "label-only") for budget in ("25", "75", "200")
    ]
    assert len({honesty for *_, honesty in rows}) == 1
    assert all(f">{word}<" in chart for word in ("AUC of the attacker", "none", "label-only"))
    assert "label-only" in (tmp_path / "notebooks" / "first-run.html").read_text()
