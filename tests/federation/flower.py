"""Flower's environment, which is not the tests' own: what needs it runs there as a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from leakrange.jobs.recipe import TrainingRecipe

__all__ = ["ROOT", "needs_flower", "python", "ran", "recipe"]

ROOT = Path(__file__).parents[2]


def python() -> Path:
    """The interpreter of the federation's environment."""
    given = os.environ.get("LEAKRANGE_FEDERATION_PYTHON")
    return Path(given) if given else ROOT / ".venv-federation" / "bin" / "python"


needs_flower = pytest.mark.skipif(
    not python().exists(), reason=f"no {python()}: make federation-env, or set LEAKRANGE_FEDERATION_PYTHON"
)


def ran(arguments: Sequence[str], home: Path) -> tuple[str, str]:
    """What a program of that environment has written to standard output, and to standard error."""
    done = subprocess.run(
        [str(python()), *arguments],
        cwd=ROOT,
        # Ray's processes are nicer than others, and would wait for all that else is tested.
        env=os.environ | {"FLWR_HOME": str(home), "RAY_worker_niceness": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout, done.stderr


def recipe(**federation: object) -> TrainingRecipe:
    """A recipe for seconds: a few devices with the patients of scikit-learn's diabetes."""
    from leakrange.defences.representation.tappfl import Tappfl, TappflParameters
    from leakrange.jobs.recipe import DataSpec

    given = {"private": "sex", "federation": {"local_epochs": 2, **federation}}
    return Tappfl(TappflParameters.model_validate(given)).recipe(DataSpec(name="diabetes"), 3)
