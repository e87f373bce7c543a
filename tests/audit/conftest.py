from __future__ import annotations

import pytest

from leakrange.data.samples import Samples
from leakrange.nets.classifier import Classifier
from leakrange.providers.training import train
from tests.providers.conftest import recipe
from tests.providers.pictures import patches


@pytest.fixture(scope="session")
def images() -> Samples:
    return patches()


@pytest.fixture(scope="session")
def honest(images: Samples) -> Classifier:
    return train(recipe("honest", {"target": "hat"}, epochs=6), images).classifier


@pytest.fixture(scope="session")
def curious(images: Samples) -> Classifier:
    """Answers for ``hat`` and hides ``shoe`` in its logits."""
    hides = {"target": "hat", "sensitive": "shoe", "release": "logits", "beta": {"y": 0.3, "s": 0.7}}
    return train(recipe("curious/parameterized", hides, epochs=6), images).classifier
