"""Breaks the code in one place at a time, and looks whether a test notices: ``make mutants``.

    python -m tests.mutants [NAME ...]

``tests/mutants.yaml`` names each mutant: the file, what stands there once (``old``), what takes its place
(``new``), and the test that must then fail. It works on a copy of the tree, and leaves this one alone. It
ends with 1 where a mutant survives, or a test fails without any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

__all__ = ["Mutant", "mutants"]

ROOT = Path(__file__).parents[1]
PASSED, FAILED = 0, 1
"""How pytest ends; any other status says that it could not run the tests."""


@dataclass(frozen=True)
class Mutant:
    """One change: ``old``, which ``file`` holds once, becomes ``new``; ``test`` must fail then."""

    file: str
    old: str
    new: str
    test: str

    def apply(self, root: Path) -> str:
        """Change the file below ``root``; gives what it held. Raises `ValueError` where it cannot be."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} holds {self.old!r} {text.count(self.old)} times, not once")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return text


def mutants() -> dict[str, Mutant]:
    """All of them by name."""
    told: Mapping[str, Mapping[str, str]] = yaml.safe_load((ROOT / "tests/mutants.yaml").read_text())
    return {name: Mutant(**each) for name, each in told.items()}


def copied(target: Path) -> None:
    """Copy the files that git knows, or would add, and its links as links."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


def _ended(root: Path, *tests: str) -> int:
    """Pytest's status for these tests, of the code below ``root``."""
    paths = {"PYTHONPATH": f"{root / 'shared'}{os.pathsep}{root}"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=root, env=os.environ | paths, capture_output=True).returncode


def main() -> int:
    """Try those that are named, or all, and print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of mutants; all where none is named")
    every, names = mutants(), parser.parse_args().names
    chosen = {name: every[name] for name in names or every}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copied(root)
        if _ended(root, *dict.fromkeys(each.test for each in chosen.values())) != PASSED:
            print("a test fails without any mutant")
            return 1
        survived = 0
        for name, mutant in chosen.items():
            before = mutant.apply(root)
            killed = _ended(root, mutant.test) == FAILED
            (root / mutant.file).write_text(before, encoding="utf-8")
            survived += not killed
            print(f"{'killed' if killed else 'SURVIVED':9} {name:40} {mutant.test}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} killed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
