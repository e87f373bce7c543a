from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from leakrange.clients.edge.main import create_edge
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from tests.provider.tiny import save_model
from tests.serving import serving

KEY = "fedcba9876543210fedcba9876543210"
OPERATOR = {"Authorization": f"Bearer {KEY}"}


def edge_app(key: str = KEY, **more: Any) -> Any:
    return create_edge(EdgeSettings(operator_key=SecretStr(key), **{"attempts": 1, **more}))


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def digests(models_dir: Path) -> dict[str, str]:
    return {
        "honest": save_model(models_dir),
        "curious": save_model(models_dir, decoder="net"),
        "other": save_model(models_dir, seed=1),
    }


@pytest.fixture(scope="module")
def provider(
    models_dir: Path, digests: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of a real curious provider which serves ``model``."""
    state = tmp_path_factory.mktemp("state")
    settings = ProviderSettings(operator_key=SecretStr(KEY), models_dir=models_dir, state_dir=state)
    with serving(create_provider(settings)) as url, httpx.Client(base_url=url, timeout=120) as client:
        deploy(client, "model", digests["curious"])
        yield client


def deploy(provider: httpx.Client, model: str, digest: str, release: str = "logits") -> None:
    body = {"artifact": digest, "release": release}
    provider.put(f"/v1/operator/models/{model}", json=body, headers=OPERATOR).raise_for_status()


@pytest.fixture(scope="module")
def edge() -> Iterator[httpx.Client]:
    """A client of a running edge client."""
    with serving(edge_app()) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client
