"""The settings that a provider reads from its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from leakrange.service.settings import ServiceSettings, WorkerCount
from leakrange.store.places import Place
from leakrange.wire.names import PROVIDER_NAME
from leakrange.wire.schemas import MAX_BATCH

Positive = Annotated[int, Field(ge=1)]


class ProviderSettings(ServiceSettings):
    """Variables ``LEAKRANGE_PROVIDER_NAME``, ``LEAKRANGE_MODELS_DIR``, ``LEAKRANGE_STATE_DIR``, ..."""

    provider_name: Annotated[str, Field(pattern=PROVIDER_NAME)] = "provider"
    workers: WorkerCount = 1
    """Processes that serve the port: one for each core that the provider may have, or for each GPU."""
    models_dir: Place
    """Artifact folders by recipe digest, in a folder or at ``s3://BUCKET/PREFIX``; read only."""
    state_dir: Path
    """The folder for the deployments and the uploads of this provider. One folder a provider."""
    state_url: SecretStr = SecretStr("")
    """A PostgreSQL database (``postgresql://user:password@host/base``) for all this instead of the folder:
    then any number of replicas serve as one provider. Each provider has a schema of its own there."""
    replica_lease: Annotated[float, Field(ge=0.5)] = 5.0
    """Seconds for which a replica answers without having reached that database. So long a change of what is
    served waits for a replica that has died."""

    @field_validator("state_url")
    @classmethod
    def _postgresql(cls, url: SecretStr) -> SecretStr:
        try:
            if url.get_secret_value() and make_url(url.get_secret_value()).get_backend_name() != "postgresql":
                raise ValueError("only PostgreSQL is shared by replicas")
        except ArgumentError as error:  # its text would quote the password
            raise ValueError(
                "it is no address of a database: postgresql://user:password@host/base"
            ) from error
        return url

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
