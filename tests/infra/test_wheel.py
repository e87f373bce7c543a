"""What `pip install "leakrange[embedded]"` gives somebody who has no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
"""It installs everything anew, from the package index."""

ROOT = Path(__file__).parents[2]
SCENARIO = """\
name: installed
seeds: [0]
data: {name: digits, size: 16}
net: {width: 0.25}
schedule: {epochs: 2}
providers: {honest: {target: parity, sensitive: large}}
clients: {phones: {kind: edge, count: 2, samples: 40}}
defences: {none: []}
attacks: {outside: {kind: attribute-inference}}
budgets: [50]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
    [built] = folder.glob("*.whl")
    return built


def test_a_wheel_holds_one_importable_name_and_nothing_that_only_a_checkout_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"leakrange"}
    parts = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert {"services", "clients", "load", "wire"} <= parts
    load = {name.split("/")[2] for name in names if name.startswith("leakrange/load/")}
    checkout = {
        "bench",
        "faults",
        "soak",
        "kill_drill.py",
        "exactness.py",
        "curious_server.py",
        "embedded.py",
    }
    assert {"users", "shapes", "locustfile.py"} <= load
    assert load & checkout == set()


def test_an_installed_range_carries_out_a_scenario(wheel: Path, tmp_path: Path) -> None:
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith(("LEAKRANGE", "PYTHON"))
    }
    venv, python = tmp_path / "venv", tmp_path / "venv" / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, venv], check=True, env=environment)
    constraints = ROOT / "constraints.txt"
    install = [uv, "pip", "install", "--quiet", "--python", python, "-c", constraints, f"{wheel}[embedded]"]
    subprocess.run(install, check=True, env=environment)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "small.yaml").write_text(SCENARIO)

    def leakrange(*arguments: str) -> str:
        done = subprocess.run(
            [python.with_name("leakrange"), *arguments], cwd=elsewhere, env=environment, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    outside = [python, "-c", "import services"]
    assert subprocess.run(outside, cwd=elsewhere, env=environment, capture_output=True).returncode == 1
    leakrange("up", "--detach", "--ports", "0")
    try:
        leakrange("run", "small.yaml", "--report", "report.html")
    finally:
        leakrange("down")
    assert "installed" in (elsewhere / "report.html").read_text()
