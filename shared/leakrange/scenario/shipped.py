"""The scenarios that come with Leakrange: those of ``scenarios/``, found in an installed package, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Shipped", "locate", "shipped"]


@dataclass(frozen=True)
class Shipped:
    """A ready scenario: ``name`` is that of its file without the suffix, ``summary`` one sentence from the
    comment that it begins with."""

    name: str
    summary: str
    text: str


def locate() -> Path:
    """The folder of ready scenarios: inside the package, else ``scenarios`` of the source checkout.

    Raises `FileNotFoundError` where the package was built without them.
    """
    here = Path(__file__).resolve()
    candidates = [here.with_name("ready"), here.parents[3] / "scenarios"]
    for folder in candidates:
        if (folder / "demo.yaml").is_file():
            return folder
    tried = ", ".join(str(folder) for folder in candidates)
    raise FileNotFoundError(f"no scenarios in {tried}: build the package from a whole checkout")


@cache
def shipped() -> dict[str, Shipped]:
    """Every ready scenario by its name: the demo first, the others in alphabetical order."""
    files = sorted(locate().glob("*.yaml"), key=lambda file: (file.stem != "demo", file.stem))
    return {file.stem: _read(file) for file in files}


def _read(file: Path) -> Shipped:
    text = file.read_text(encoding="utf-8")
    return Shipped(file.stem, _first_sentence(text), text)


def _first_sentence(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    comment = " ".join(lines)
    # "Fig. 9" and "et al. 2022" end no sentence.
    end = re.search(r"\?(?= |$)|\.(?= +[A-Z`]|$)", comment)
    return comment[: end.end()] if end else comment
