"""What tests of the Kubernetes manifests share."""

from __future__ import annotations

import pytest

from tests.infra.manifests import Made, rendered


@pytest.fixture(scope="session")
def made() -> dict[str, list[Made]]:
    """All objects of each overlay."""
    return rendered()
