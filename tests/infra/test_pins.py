"""What is downloaded is what was written down: hashes of packages, and the digest of the base image."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ["constraints", "constraints-federation", "constraints-mlserver", "constraints-peers"]
SHA256 = r"--hash=sha256:[0-9a-f]{64}"
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(f"{folder}/{WHEEL}", "w") as wheel:
        wheel.writestr("leakrange-1.dist-info/METADATA", METADATA)
        wheel.writestr("leakrange-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr("leakrange-1.dist-info/RECORD", "")
    return WHEEL

WHEEL = "leakrange-1-py3-none-any.whl"
METADATA = '''Metadata-Version: 2.1
Name: leakrange
Version: 1
Provides-Extra: embedded
Requires-Dist: torch; extra == "embedded"
Requires-Dist: thing; extra == "embedded"
'''
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "leakrange"
version = "1"
optional-dependencies.embedded = ["thing", "torch"]
"""


@pytest.mark.parametrize("name", NAMES)
def test_every_pinned_package_has_hashes_but_torch(name: str) -> None:
    """After a change of the constraints run ``make refresh-pins``. torch comes in many builds."""
    pins = [line for line in (ROOT / f"{name}.txt").read_text().splitlines() if not line.startswith("#")]
    blocks = re.split(r"(?m)^(?=[^ #])", (ROOT / f"{name}.hashes.txt").read_text())[1:]
    hashed = {}
    for block in blocks:
        pin, *hashes = block.replace("\\\n", "").split()
        hashed[pin.lower()] = hashes
    assert {pin.lower() for pin in pins if not pin.startswith("torch==")} == set(hashed)
    assert all(hashes and all(re.fullmatch(SHA256, each) for each in hashes) for hashes in hashed.values())
    assert any(pin.startswith("uv==") for pin in hashed)  # by which all else is installed
    # By which Leakrange is built, wherever it is installed.
    assert any(pin.startswith("hatchling==") for pin in hashed) == (name != "constraints-mlserver")


def _wheel(folder: Path, name: str, script: str = "") -> Path:
    made = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        wheel.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        if script:
            program = zipfile.ZipInfo(f"{name}-1.data/scripts/{name}")
            program.external_attr = 0o100755 << 16
            wheel.writestr(program, script)
        wheel.writestr(f"{name}-1.dist-info/RECORD", "")
    return made


def test_make_installs_nothing_whose_hash_is_another(tmp_path: Path) -> None:
    """A local build of torch is taken all the same."""
    wheels, checkout = tmp_path / "wheels", tmp_path / "checkout"
    wheels.mkdir()
    checkout.mkdir()
    uv = f'#!/bin/sh\nexec "{Path(sys.executable).parent}/uv" "$@"\n'
    pinned = {"thing": _wheel(wheels, "thing"), "uv": _wheel(wheels, "uv", uv)}
    contents = {name: wheel.read_bytes() for name, wheel in pinned.items()}
    hashes = [
        f"{name}==1 \\\n    --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"
        for name, content in contents.items()
    ]
    _wheel(wheels, "torch")
    shutil.copy(ROOT / "Makefile", checkout)
    (checkout / "constraints.txt").write_text("thing==1\ntorch==1\nuv==1\n")
    (checkout / "constraints.hashes.txt").write_text("".join(hashes))
    (checkout / "backend.py").write_text(BACKEND)
    (checkout / "pyproject.toml").write_text(PROJECT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_CACHE_DIR": "1"}
    environment |= {
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_INDEX": "1",
        "UV_CACHE_DIR": str(tmp_path / "cache"),
    }
    command = ["make", "-C", str(checkout), f"PYTHON={sys.executable}", ".venv/.installed-embedded"]
    packages = (
        checkout / ".venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    )
    for name in ("uv", "thing"):
        with zipfile.ZipFile(pinned[name], "a") as wheel:
            wheel.writestr("more.py", "")
        refused = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert refused.returncode
        assert "without checking hashes" in refused.stdout
        assert not (checkout / ".venv" / ".installed-embedded").exists()
        assert not (packages / f"{name}.py").exists()
        pinned[name].write_bytes(contents[name])
    subprocess.run(command, env=environment, check=True)
    assert (packages / "thing.py").exists()
    assert (packages / "torch.py").exists()


def test_make_writes_down_the_digest_of_the_base_image(tmp_path: Path) -> None:
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(
        "#!/bin/sh\n"
        '[ "$*" = "buildx imagetools inspect --format {{.Manifest.Digest}} $IMAGE" ] && echo "$DIGEST"\n'
    )
    docker.chmod(0o755)
    recipe = tmp_path / "infra" / "docker" / "Dockerfile"
    recipe.parent.mkdir(parents=True)
    shutil.copy(ROOT / "infra" / "docker" / "Dockerfile", recipe)
    shutil.copy(ROOT / "Makefile", tmp_path)
    before = recipe.read_text().splitlines()
    [at] = [number for number, line in enumerate(before) if line.startswith("ARG PYTHON_IMAGE=")]
    image = before[at].removeprefix("ARG PYTHON_IMAGE=").partition("@")[0]
    for number in "12":
        digest = "sha256:" + number * 64
        environment = {
            **os.environ,
            "PATH": f"{docker.parent}:{os.environ['PATH']}",
            "IMAGE": image,
            "DIGEST": digest,
        }
        subprocess.run(["make", "-C", str(tmp_path), "base-image"], env=environment, check=True)
        before[at] = f"ARG PYTHON_IMAGE={image}@{digest}"
        assert recipe.read_text().splitlines() == before
    refused = subprocess.run(
        ["make", "-C", str(tmp_path), "base-image"], env={**environment, "IMAGE": "another"}
    )
    assert refused.returncode
    assert recipe.read_text().splitlines() == before
