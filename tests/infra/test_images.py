"""The images' promises, read from their recipe."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.infra.test_pins import NAMES

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "infra" / "docker" / "Dockerfile"


def stages() -> dict[str, str]:
    """The instructions of each stage, with those of the stages that it is made from in front."""
    found: dict[str, str] = {}
    for block in re.split(r"(?m)^(?=FROM )", DOCKERFILE.read_text())[1:]:
        head = re.match(r"FROM (\S+) AS (\S+)", block)
        assert head is not None, block[:80]
        found[head[2]] = found.get(head[1], "") + block
    return found


PARTIES = ("proxy", "controller", "provider", "edge", "attacker", "load", "flower", "federation")


def test_no_image_runs_as_root_and_each_tells_its_health() -> None:
    recipes = stages()
    for party in PARTIES:
        assert re.findall(r"(?m)^USER (\S+)", recipes[party]) == ["10001:10001"], party
        assert "HEALTHCHECK" in recipes[party], party


def test_each_image_installs_its_partys_extra_and_no_more() -> None:
    recipes = stages()
    wanted = {
        "proxy": ["proxy", "observe"],
        "controller": ["controller", "observe"],
        "provider": ["models", "observe", "provider"],
        "edge": ["models", "observe"],
        "attacker": ["models", "observe", "attacker"],
        "load": ["models", "observe", "load"],
        "flower": ["flower"],
        "federation": ["federation"],
    }
    for party, extras in wanted.items():
        assert re.findall(r"(?<!\+)--extra (\S+)", recipes[party]) == extras, party


def test_a_provider_reads_models_in_files_of_others_where_its_build_is_told_to() -> None:
    """By the shell that builds the image: nothing more by default, and one extra more when asked."""
    recipe = stages()["provider"]
    assert re.search(r"(?m)^ARG MODEL_FILES=$", recipe)
    [extras] = re.findall(r"pyproject.toml (--extra provider .*)$", recipe, re.MULTILINE)
    for argument, wanted in (("", "--extra provider"), ("1", "--extra provider --extra model-files")):
        shell = subprocess.run(
            ["sh", "-c", f"echo {extras}"], env={"MODEL_FILES": argument}, capture_output=True, text=True
        )
        assert shell.stdout.strip() == wanted
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name in ("provider-honest", "provider-curious", "provider-vicious"):
        assert compose[name]["build"]["args"]["MODEL_FILES"] == "${MODEL_FILES-}", name


def test_images_take_nothing_whose_hash_is_another() -> None:
    installs = re.findall(r"(?:uv )?pip install (?:\\\n|[^&\n])*", DOCKERFILE.read_text())
    assert len(installs) > len(PARTIES)
    for install in installs:
        # What was built here, and uv, which checks the others' hashes.
        if "--no-index /dist/" not in install and "--require-hashes -r uv.txt" not in install:
            assert re.search(r"-c (\S+)\.txt -c \1\.hashes\.txt ", install), install


def test_proxy_and_controller_extras_bring_no_deep_learning_framework() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"]]
    for extra in ("proxy", "controller"):
        required += project["optional-dependencies"][extra]
    assert not [name for name in required if re.match(r"torch|tensorflow|jax|leakrange\[", name)]


def test_nothing_secret_is_built_in() -> None:
    assert not re.search(r"(?i)password|secret|token|operator_key", DOCKERFILE.read_text())
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored  # what is not named is not sent to the engine
    assert not [line for line in ignored if line.startswith("!.") or line == "!*"]


def test_the_linter_is_content() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or "hadolint"
    found = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("name", NAMES)
def test_constraints_are_exact_and_hold_on_any_machine(name: str) -> None:
    lines = [line for line in (ROOT / f"{name}.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(lines, key=str.lower)
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line  # no paths, no local versions


def test_both_environments_train_with_the_same_versions() -> None:
    """Or a federation would make another extractor than a fleet does of the same recipe."""
    ours, theirs = (
        dict(line.split("==") for line in (ROOT / name).read_text().splitlines() if not line.startswith("#"))
        for name in ("constraints.txt", "constraints-federation.txt")
    )
    for name in ("torch", "numpy", "scipy", "scikit-learn", "safetensors", "pydantic"):
        assert ours[name] == theirs[name], name
