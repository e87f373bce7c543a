"""The fenced blocks and code spans of README and documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGES", "ROOT", "Block", "blocks", "sections", "spans"]

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
EXAMPLES = ROOT / "docs" / "examples"
INCLUDED = re.compile(r'(?m)^--8<-- "([\w./-]+)"$')
"""A file that the site puts in the place of this line."""
FENCE = re.compile(r"(?ms)^( *)```(\S*)[^\n]*\n(.*?)^ *```$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the heading that it stands below, its language, what is in it."""

    page: str
    line: int
    heading: str
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """All blocks of a page in their order."""
    text = INCLUDED.sub(lambda at: (EXAMPLES / at[1]).read_text().rstrip("\n"), (ROOT / page).read_text())
    return [
        Block(page, text.count("\n", 0, at.start()) + 1, _heading(text[: at.start()]), at[2], at[3])
        for at in FENCE.finditer(text)
    ]


def _heading(before: str) -> str:
    outside = FENCE.sub("", before)
    return re.findall(r"(?m)^#+ (.*)$", outside)[-1]


def sections(page: str, heading: str) -> list[Block]:
    """The blocks below a heading; there are some."""
    found = [block for block in blocks(page) if block.heading == heading]
    assert found, f"{page} has no block below {heading!r}"
    return found


def spans(page: str) -> Iterator[str]:
    """What stands between single backticks outside of blocks."""
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", FENCE.sub("", (ROOT / page).read_text()))
