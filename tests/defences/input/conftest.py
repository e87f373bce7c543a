"""Samples of all kinds, and one PASS that is trained for a second or two: y is kept, s is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakrange.data import Samples, load
from leakrange.defences.artifact import TrainedDefence, save
from leakrange.defences.chain import DefenceChain
from leakrange.defences.training import train_defence
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

DATA = DataSpec(name="quadrants", count=2000)
LINK = {
    "private": "s",
    "useful": "y",
    "net": "mlp",
    "epochs": 30,
    "lr": 0.01,
    "substitutes": 64,
    "embedding": 32,
    "temperature": 0.1,
}


@dataclass(frozen=True)
class Ready:
    """A trained PASS, its folder, and the chain that names it."""

    samples: Samples
    trained: TrainedDefence
    folder: Path
    planned: DefenceChain

    def load(self, digest: str) -> bytes:
        """The file of that artifact."""
        return (self.folder.parent / digest / "defence.safetensors").read_bytes()


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    planned, (recipe,) = DefenceChain.parse([{"pass": LINK}]).planned(DATA, seed=3)
    samples = load(DATA)
    trained = train_defence(recipe, samples)
    return Ready(samples, trained, save(tmp_path_factory.mktemp("models"), trained), planned)


TABLE = SampleSpec(
    encoding="table",
    shape=(2,),
    dtype="float32",
    scale=(10.0, 0.5),
    offset=(-3.0, 0.0),
    columns=("age", "hours"),
)
SPECS = [
    SampleSpec.picture(5, 4, 3),
    SampleSpec.picture(3, 3, 1),
    TABLE,
    SampleSpec(encoding="series", shape=(6, 2), dtype="float32", rate=50.0),
    SampleSpec(encoding="vector", shape=(7,), dtype="float32"),
]


def some(spec: SampleSpec, seed: int, count: int) -> Any:
    """Samples that have nothing to say."""
    return spec.nearest(np.random.default_rng(seed).normal(128, 60, (count, *spec.shape)))
