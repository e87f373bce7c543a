"""Flower's environment, which is not the tests' own: what needs it runs there as a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from leakrange.defences.outcome import TrainedDefence
from leakrange.jobs.recipe import TrainingRecipe

__all__ = ["ROOT", "needs_flower", "python", "ran", "recipe", "same_extractor"]

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


def same_extractor(folder: Path, here: TrainedDefence) -> bool:
    """Whether a stored extractor is the one of this process, but for the rounding of sums: here devices are
    trained side by side, there one by one."""
    from safetensors.numpy import load_file

    found = load_file(folder / "defence.safetensors")
    wanted = here.module.state_dict()
    assert found.keys() == wanted.keys()
    return all(np.allclose(found[name], wanted[name].numpy(), atol=1e-5) for name in found)


def recipe(**federation: object) -> TrainingRecipe:
    """A recipe for seconds: a few devices with the patients of scikit-learn's diabetes."""
    from leakrange.defences.representation.tappfl import Tappfl, TappflParameters
    from leakrange.jobs.recipe import DataSpec

    given = {"private": "sex", "federation": {"local_epochs": 2, **federation}}
    return Tappfl(TappflParameters.model_validate(given)).recipe(DataSpec(name="diabetes"), 3)
