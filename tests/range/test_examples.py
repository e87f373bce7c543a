"""The examples of README and docs that talk HTTP, run by a shell as they stand there."""

from __future__ import annotations

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

from tests.embedded import EmbeddedRange, clean
from tests.provider.tiny import save_model
from tests.range.conftest import scenario

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: examples are not run"),
]
ROOT = Path(__file__).parents[2]
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
    are withdrawn."""
    made = save_model(embedded_range.folder.models, seed=77, size=32)
    record = embedded_range.record
    provider = f"http://127.0.0.1:{port(embedded_range, 'provider-honest')}/v1/operator/models"
    with httpx.Client(headers={"Authorization": f"Bearer {record.operator_key}"}, timeout=60) as operator:
        operator.put(f"{provider}/my-model", json={"artifact": made}).raise_for_status()
        yield made
        for name in ("my-model", "door", "faces", "vectors", "names"):
            operator.delete(f"{provider}/{name}")
            operator.delete(f"{record.proxy}/admin/routes/{name}")
    shutil.rmtree(embedded_range.folder.models / made)


def port(embedded: EmbeddedRange, party: str) -> int:
    return next(each.port for each in embedded.record.parties if each.name == party)


def run(path: str, heading: str, embedded: EmbeddedRange, place: Path, **names: str) -> str:
    """Run the shell blocks below ``heading``, in order and as one script; gives what it printed."""
    section = re.search(rf"(?ms)^#+ {heading}\n(.*?)(?=^## )", (ROOT / path).read_text())
    assert section, f"{path} has no section {heading!r}"
    script = "\n".join(re.findall(r"(?ms)^```sh\n(.*?)^```", section[1]))
    assert "curl" in script
    for usual, party in PORTS.items():
        script = script.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{port(embedded, party)}")
    for name, meant in names.items():
        script = re.sub(rf"\b(?<!\$){name}\b(?! in)", meant, script)
    done = subprocess.run(
        ["bash", "-c", FAIL_LOUDLY + script],
        cwd=place,
        env=clean() | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_readme(embedded_range: EmbeddedRange, place: Path, digest: str) -> None:
    said = run("README.md", "Who it is for", embedded_range, place, MODEL="my-model", DIGEST=digest)
    assert (place / "results.csv").read_text().startswith("id,kind,provider,")
    assert '"person":"ann","images":2' in said
    assert said.count('"release":"score"') == 2
    assert '"message":"done"}' in said.rpartition("event: run.finished\n")[2]


def test_student_services(embedded_range: EmbeddedRange, place: Path, digest: str) -> None:
    said = run("docs/architecture.md", "Student services", embedded_range, place, DIGEST=digest)
    assert said.count('"release":"score"') == 2
    assert '"persons":[{"person":"ann","images":2}]' in said
    assert re.search(r'"model":"vectors".*"release":"features"', said)
    assert re.search(r'"model":"names".*"release":"softmax"', said)
