"""The settings that a provider reads from its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from leakrange.service.settings import ServiceSettings, WorkerCount
from leakrange.wire.schemas import MAX_BATCH

Positive = Annotated[int, Field(ge=1)]


class ProviderSettings(ServiceSettings):
    """Variables ``LEAKRANGE_PROVIDER_NAME``, ``LEAKRANGE_MODELS_DIR``, ``LEAKRANGE_STATE_DIR``, ..."""

    provider_name: str = "provider"
    workers: WorkerCount = 1
    """Processes that serve the port: one for each core that the provider may have, or for each GPU."""
    models_dir: Path
    """Artifact folders by recipe digest; read only."""
    state_dir: Path
    """The folder for the deployments and the uploads of this provider. One folder a provider."""
    batch: Positive = 16
    """Most samples that go through a net at once: a property of the device; 8 to 16 on a CPU."""
    queue: Positive = 1024
    """Most samples that may wait for one model and release; further requests are refused with 503."""
    max_batch: Positive = MAX_BATCH
    """Most samples of one inference request."""
    kept_vectors: Positive = 20_000
    """Most vectors of images that each student service keeps, for images that come again."""
    gallery_persons: Positive = 10_000
    """Most persons enrolled with one verification model."""
    gallery_images: Positive = 64
    """Most images by which a person is enrolled at once."""
    max_upload: Positive = 1024
    """Most samples of one upload, which needs no inference."""
    threads: Positive = 1
    """Torch threads; more than one makes a pass far slower as soon as another process needs a core."""
