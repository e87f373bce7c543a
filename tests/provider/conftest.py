from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.services.provider.decoding import DecodingProcess
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from tests.provider.tiny import SHAPE, save_model
from tests.serving import serving

KEY = "0123456789abcdef0123456789abcdef"
OPERATOR = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def digests(models_dir: Path) -> dict[str, str]:
    """Artifacts by what they are; honest, net and threshold share their classifier's weights."""
    return {
        "honest": save_model(models_dir),
        "net": save_model(models_dir, decoder="net"),
        "threshold": save_model(models_dir, decoder="threshold"),
        "other": save_model(models_dir, seed=1),
    }


def settings_for(models_dir: Path, state_dir: Path, **more: Any) -> ProviderSettings:
    return ProviderSettings(operator_key=SecretStr(KEY), models_dir=models_dir, state_dir=state_dir, **more)


@pytest.fixture(scope="session")
def decoding() -> DecodingProcess:
    """One for all providers of a session: each takes seconds of imports to start."""
    return DecodingProcess()


@dataclass
class Provider:
    """A running provider and a client of it, which has no key."""

    url: str
    client: httpx.Client
    models_dir: Path

    def deploy(self, name: str, digest: str, release: str = "logits", **more: Any) -> httpx.Response:
        body = {"artifact": digest, "release": release, **more}
        return self.client.put(f"/v1/operator/models/{name}", json=body, headers=OPERATOR)

    def expected(self, digest: str, images: NDArray[np.uint8], kind: str) -> NDArray[np.float32]:
        """What the model itself gives, computed here."""
        return outputs(artifact.load(self.models_dir / digest).classifier, images, kind)


@pytest.fixture(scope="module")
def provider(
    models_dir: Path,
    digests: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    decoding: DecodingProcess,
) -> Iterator[Provider]:
    """One provider for a module, which serves ``honest`` and ``curious``."""
    app = create_provider(settings_for(models_dir, tmp_path_factory.mktemp("state")), decoding)
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        made = Provider(url, client, models_dir)
        made.deploy("honest", digests["honest"]).raise_for_status()
        made.deploy("curious", digests["net"]).raise_for_status()
        yield made


@pytest.fixture
def images() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (5, *SHAPE)).astype(np.uint8)
