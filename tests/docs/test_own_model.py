"""The guides own-model.md, attack-endpoint.md and protect-endpoint.md: a reader does one after the other, as
they stand, with the model and the table that the first one shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI

from leakrange.targets.target import TargetLimits, read_target
from tests.data.albums import album
from tests.data.tables import write_rows
from tests.docs.blocks import ROOT, blocks, sections
from tests.docs.checks import check
from tests.docs.shell import commands
from tests.embedded import EmbeddedRange, clean
from tests.proxy.servers import serve

FIRST, ATTACK, PROTECT = (
    f"docs/guides/{name}.md" for name in ("own-model", "attack-endpoint", "protect-endpoint")
)
TABLE = re.compile(r"(?m)^bank: gender hidden behind exited, AUC\n(provider .*)\n(ours .*)$")
PETS = 24

pytestmark = pytest.mark.timeout(900)


class Reader:
    """Follows pages in ``place``, where the model answers at ``model``."""

    def __init__(self, place: Path, embedded: EmbeddedRange, model: str) -> None:
        self._place, self._model = place, model
        self._ports = {8700: "controller", 8701: "proxy"}
        self._embedded = embedded

    def follows(self, page: str, *without: str) -> str:
        """What the page's commands print, but for those below headings that the reader leaves out."""
        for block in blocks(page):
            if block.language == "yaml":
                [name] = re.findall(r"Save (?:it|this) as `([\w.]+\.yaml)`", (ROOT / page).read_text())
                (self._place / name).write_text(block.text)
        script = "".join(
            block.text for block in blocks(page) if block.language == "sh" and block.heading not in without
        )
        script = script.replace("leakrange up --detach", "leakrange status")
        script = script.replace("http://127.0.0.1:8080", self._model)
        for usual, party in self._ports.items():
            script = script.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{self._embedded.record.port(party)}")
        return self.runs(script)

    def runs(self, script: str) -> str:
        """What a script prints."""
        found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", f"set -eu -o pipefail\nexec 2>&1\n{script}"],
            cwd=self._place,
            env=clean() | {"PATH": found, "LEAKRANGE_DATA": str(self._embedded.data), "COLUMNS": "250"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def pets(place: Path) -> None:
    for kind, seed in (("cats", 1), ("dogs", 2)):
        album(place / "pets" / kind, PETS // 2, seed, "{:04d}.png")
    rows = [
        {
            "file": f"{kind}/{number:04d}.png",
            "collar": ("yes", "no")[number % 2],
            "owner": number // 2 + first,
        }
        for first, kind in ((0, "cats"), (100, "dogs"))
        for number in range(1, PETS // 2 + 1)
    ]
    write_rows(place / "pets.csv", rows)


def served(place: Path) -> FastAPI:
    """The page's model, which has written its table; it knows pets as well."""
    [shown] = [block for block in blocks(FIRST) if block.language == "python"]
    names: dict[str, Any] = {"__name__": "__main__"}
    (place / "my_model.py").write_text(shown.text)
    exec(compile(shown.text, "my_model.py", "exec"), names)
    app: FastAPI = names["app"]

    @app.post("/v1/models/pets:predict")
    def predict(asked: dict[str, Any]) -> dict[str, Any]:
        return {"predictions": [[0.25, 0.75] for _ in asked["instances"]]}

    return app


@pytest.fixture
def reader(
    embedded_range: EmbeddedRange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".leakrange").symlink_to(embedded_range.root)
    (tmp_path / "data").symlink_to(embedded_range.data)
    pets(tmp_path)
    with serve(served(tmp_path)) as model:
        yield Reader(tmp_path, embedded_range, model)
    for gone in (
        ["policies", "unshadow", "--model", "bank"],
        ["policies", "unbind", "--model", "bank"],
        ["policies", "delete", "careful"],
        ["policies", "delete", "coarse"],
        ["targets", "delete", "bank"],
    ):
        embedded_range(*gone)


def figures(line: str) -> list[tuple[float, float]]:
    """The AUC and the honesty of each field of the table that a run prints."""
    found = re.findall(r"(0\.\d+) \(honesty ([\d.]+)\)", line.replace("\N{NO-BREAK SPACE}", " "))
    return [(float(area), float(right)) for area, right in found]


def test_a_reader_measures_a_model_attacks_it_and_protects_it(reader: Reader, tmp_path: Path) -> None:
    printed = reader.follows(FIRST, "Install")
    [shown] = [block.text for block in sections(FIRST, "The answer") if block.language == "text"]
    (heading, ours), (told, figures_told) = TABLE.findall(printed)[0], TABLE.findall(shown)[0]
    assert heading.split() == told.split()
    for measured, promised in zip(figures(ours), figures(figures_told), strict=True):
        assert measured == pytest.approx(promised, abs=5)
        assert measured[0] == pytest.approx(promised[0], abs=0.06)
    assert shown.splitlines()[0] in printed
    for block in sections(FIRST, "The model"):
        assert block.language != "text" or block.text in printed
    assert printed.count("two numbers that sum to 1: softmax") == 2
    assert (tmp_path / "bank.html").read_text().lower().startswith("<!doctype html>")
    assert read_target((tmp_path / "pets.yaml").read_text()).card.classes == ("cats", "dogs")
    [header, *_] = (tmp_path / "customers.csv").read_text().splitlines()
    assert any(block.text.startswith(header) for block in sections(FIRST, "What you have"))

    attacked = reader.follows(ATTACK)
    [(heading, ours)] = TABLE.findall(attacked)
    assert heading.split() == ["provider", "none", "noisy", "label-only"]
    none, noisy, label = (area for area, _ in figures(ours))
    assert none > 0.85
    assert abs(noisy - none) < 0.05  # several answers to each sample average the noise out
    assert label < none
    [limits] = re.findall(r"`limits: (\{.*\})`", (ROOT / ATTACK).read_text())
    assert TargetLimits.model_validate(yaml.safe_load(limits)).samples == 20_000

    protected = reader.follows(PROTECT)
    assert '"values":[[0.6,0.4],[0.1,0.9]]' in protected
    assert re.search(r"asked so far +\d+ requests, 3 samples sent, 3 answered", protected)
    assert re.search(r"(?m)^model bank +coarse ", protected)
    for name in ("bank", "pets"):
        assert name in reader.runs(f"leakrange data remove {name}")


def test_what_is_installed_exists() -> None:
    [install] = sections(FIRST, "Install")
    lines = list(commands(install.text))
    assert lines[0] == ["python", "-m", "venv", ".venv"]
    for words in lines[1:]:
        check(words)
