"""Pages of the notebooks: their texts and their code, without what it prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

__all__ = ["pages"]

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def pages() -> Iterator[tuple[str, str]]:
    """A page for each notebook of the documentation."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        parts = [_part(cell) for cell in json.loads(path.read_text())["cells"]]
        parts.insert(1, f"[Download the notebook]({path.name})")
        yield f"{path.stem}.md", "\n\n".join(parts) + "\n"


def _part(cell: dict[str, object]) -> str:
    source = cell["source"]
    assert isinstance(source, list)
    text = "".join(source)
    return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
