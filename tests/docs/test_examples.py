"""Pages whose commands a shell runs as they stand there, against a range with small things in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.audit.digits import model_file
from tests.docs.blocks import blocks, sections
from tests.embedded import EmbeddedRange, clean
from tests.provider.tiny import save_model
from tests.providers.foreign.graphs import linear
from tests.range.conftest import scenario

EXECUTED: tuple[tuple[str, str | None], ...] = (
    ("README.md", "A scenario, and Python"),
    ("docs/start.md", "A short tour"),  # by tests/range/test_tour.py
    ("docs/student-services.md", None),
    ("docs/budgets.md", None),
    ("docs/editor.md", "From other editors"),
    ("docs/events.md", None),
    ("docs/guides/audit-model.md", "A file"),
    ("docs/guides/model-files.md", "Two files"),
    ("docs/guides/model-files.md", "For a provider elsewhere"),
    ("docs/guides/python-client.md", None),
    ("docs/guides/results.md", None),
)
"""Pages, or what of them stands below one heading."""

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: examples are not run"),
]
PORTS = {8700: "controller", 8701: "proxy", 8702: "provider-honest"}
FAIL_LOUDLY = 'set -eu -o pipefail\ncurl() { command curl --fail-with-body "$@" && echo; }\n'


@pytest.fixture
def place(embedded_range: EmbeddedRange, tmp_path: Path) -> Path:
    """A folder that looks like the repository after the tour, with small things in it."""
    (tmp_path / ".leakrange").symlink_to(embedded_range.root)
    (tmp_path / "scenarios").mkdir()
    honest = {"behaviour": "honest", "target": "parity", "sensitive": "large"}
    attack = {"kind": "attribute-inference", "auxiliary": 64, "knowledge": "unaware"}
    small = scenario(
        "examples", schedule={"epochs": 1}, providers={"honest": honest}, attacks={"outside": attack}
    )
    (tmp_path / "scenarios" / "demo.yaml").write_text(small)
    for name in "abc":
        grey = np.random.default_rng(ord(name)).integers(0, 256, (32, 32), dtype=np.uint8)
        Image.fromarray(grey).save(tmp_path / f"{name}.png")
    return tmp_path


@pytest.fixture
def digest(embedded_range: EmbeddedRange) -> Iterator[str]:
    """An untrained model for pictures of 32 × 32, served as my-model; in the end all models of the examples
    are withdrawn, and what they put into the proxy."""
    made = save_model(embedded_range.folder.models, seed=77, size=32)
    record = embedded_range.record
    provider = f"http://127.0.0.1:{port(embedded_range, 'provider-honest')}"
    models, admin = f"{provider}/v1/operator/models", f"{record.proxy}/admin"
    with httpx.Client(headers={"Authorization": f"Bearer {record.operator_key}"}, timeout=60) as operator:
        operator.put(f"{models}/my-model", json={"artifact": made}).raise_for_status()
        operator.put(f"{admin}/routes/my-model", json={"upstream": provider}).raise_for_status()
        operator.put(f"{admin}/policies/coarse", json={"chain": ["argmax"]}).raise_for_status()
        yield made
        for name in ("my-model", "faces", "vectors", "names"):
            operator.delete(f"{models}/{name}")
            operator.delete(f"{admin}/routes/{name}")
            operator.delete(f"{admin}/shadows", params={"model": name})
    shutil.rmtree(embedded_range.folder.models / made)


def port(embedded: EmbeddedRange, party: str) -> int:
    return next(each.port for each in embedded.record.parties if each.name == party)


def run(
    page: str,
    embedded: EmbeddedRange,
    place: Path,
    heading: str | None = None,
    before: str = "",
    ends: int = 0,
    **names: str,
) -> str:
    """Run a page's shell blocks, or those below a heading, as one script; gives what it printed."""
    assert (page, heading) in EXECUTED
    found = blocks(page) if heading is None else sections(page, heading)
    script = before + "".join(block.text for block in found if block.language == "sh")
    done = subprocess.run(
        ["bash", "-c", FAIL_LOUDLY + _here(script, embedded, names)],
        cwd=place,
        env=clean() | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == ends, done.stdout + done.stderr
    return done.stdout


def _here(text: str, embedded: EmbeddedRange, names: dict[str, str]) -> str:
    """The text with this range's ports, and with what is meant by words in capitals."""
    for usual, party in PORTS.items():
        text = text.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{port(embedded, party)}")
    for name, meant in names.items():
        text = re.sub(rf"\b(?<!\$){name}\b(?! in)", meant, text)
    return text


def test_results_and_events(embedded_range: EmbeddedRange, place: Path) -> None:
    said = run("docs/guides/results.md", embedded_range, place)
    assert (place / "results.csv").read_text().startswith("id,kind,provider,")
    assert '"state":"done"}' in said.rpartition("event: run.finished\n")[2]
    [latest, *_] = json.loads(embedded_range("runs", "--json").stdout)
    assert "event: run.finished" in run("docs/events.md", embedded_range, place, RUN=latest["id"])


def test_editors_are_told_of_mistakes_and_what_can_be_written(
    embedded_range: EmbeddedRange, place: Path
) -> None:
    checked, proposed = run("docs/editor.md", embedded_range, place, "From other editors").splitlines()
    assert json.loads(checked)["valid"] is True
    assert "digits" in proposed


def test_python_talks_to_a_range(embedded_range: EmbeddedRange, place: Path, digest: str) -> None:
    shutil.copy(place / "scenarios" / "demo.yaml", place / "mine.yaml")  # the README's is slower
    shown = [*sections("README.md", "A scenario, and Python"), *blocks("docs/guides/python-client.md")]
    code = "".join(block.text for block in shown if block.language == "python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env=clean() | {"LEAKRANGE_STATE": str(embedded_range.root)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "“honest”" in done.stdout.splitlines()[0]
    assert re.search(r"^2 .*did you mean 'digits'", done.stdout, re.MULTILINE)
    assert len(re.findall(r"(?m)^(none|label-only), (50|200) samples: AUC 0\.\d\d$", done.stdout)) == 8
    assert done.stdout.splitlines().count("30") == 1  # the samples that the key has spent
    assert "ask for fewer samples" in done.stdout


def test_a_file_is_audited(embedded_range: EmbeddedRange, place: Path) -> None:
    shutil.copy(model_file(place / "models"), place)
    run("docs/guides/audit-model.md", embedded_range, place, "A file", ends=1)  # two epochs: it does not pass
    assert (place / "verdict.html").read_text().lower().startswith("<!doctype html>")


def test_a_model_file_is_served(embedded_range: EmbeddedRange, place: Path) -> None:
    page = "docs/guides/model-files.md"
    [card] = [block.text for block in blocks(page) if block.language == "yaml"]
    (place / "card.yaml").write_text(card)
    (place / "model.onnx").write_bytes(linear().SerializeToString())
    (place / "rows.csv").write_text("hours,age\n38,41\n12,23\n")
    said = run(page, embedded_range, place, "Two files")
    [values] = re.findall(r'"model":"incomes".*"release":"softmax","values":(\[\[.*?\]\])', said)
    assert [round(sum(row), 3) for row in json.loads(values)] == [1.0, 1.0]
    before = f"OPERATOR={embedded_range.record.operator_key} MODELS_DIR={embedded_range.folder.models}\n"
    told = run(page, embedded_range, place, "For a provider elsewhere", before=before)
    assert json.loads(told)["classes"] == ["low", "middle", "high"]


def test_keys_limits_and_shadows(embedded_range: EmbeddedRange, place: Path, digest: str) -> None:
    key = embedded_range.record.operator_key
    before = f"PROXY={embedded_range.record.proxy} OPERATOR_KEY={key}\n"
    said = run("docs/budgets.md", embedded_range, place, before=before)
    assert '"policy":"coarse"' in said
    assert "weighted" in said


def test_student_services(embedded_range: EmbeddedRange, place: Path, digest: str) -> None:
    said = run("docs/student-services.md", embedded_range, place, DIGEST=digest)
    assert said.count('"release":"score"') == 2
    assert '"persons":[{"person":"ann","images":2}]' in said
    assert re.search(r'"model":"vectors".*"release":"features"', said)
    assert re.search(r'"model":"names".*"release":"softmax"', said)
