"""What the README shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from clients.cli.embedded.ports import DEFAULT_BASE, names
from tests.embedded import leakrange

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_scenario_is_valid(tmp_path: Path) -> None:
    shown = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert len(shown) == 1
    path = tmp_path / "shown.yaml"
    path.write_text(shown[0])
    done = leakrange("scenario", "check", str(path))
    assert done.returncode == 0, done.stderr


def test_every_command_and_option_exists() -> None:
    for line in re.findall(r"(?m)^leakrange ([^#\n]*)", README):
        words = [word for word in line.split() if re.fullmatch(r"[a-z]+", word)][:2]
        shown = leakrange(
            *words[: 2 if words[0] in ("data", "scenario", "models", "keys", "reproduce") else 1], "--help"
        )
        assert shown.returncode == 0, line
        for option in re.findall(r"--[a-z-]+", line):
            assert option in shown.stdout, f"{option} of: leakrange {line}"


def test_the_ports_are_those_of_the_launcher() -> None:
    shown = dict(re.findall(r"(?m)^\| ([a-z-]+) \| (87\d\d) \|", README))
    assert {name: int(port) for name, port in shown.items()} == {
        name: DEFAULT_BASE + i for i, name in enumerate(names())
    }


def test_paths_that_it_names_exist() -> None:
    named = re.findall(r"`((?:shared|infra|scenarios|docs)/[\w./-]+)`", README)
    missing = [path for path in named if not (ROOT / path).exists()]
    assert missing == ["shared/leakrange/defences/output/quantise.py"]  # the file that is shown being added
    assert (ROOT / "docs" / "architecture.md").exists()


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for path in re.findall(r"`((?:services|clients|leakrange)/[\w./-]+)`", text):
        root = ROOT / "shared" if path.startswith("leakrange") else ROOT
        assert (root / path).exists(), path
