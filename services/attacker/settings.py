"""The settings of a fleet worker. It gets no operator key: it learns everything through the API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from leakrange.service.broker import BrokerUrl
from leakrange.service.settings import OptionalSecret, RandomSecret
from leakrange.store.places import Place

Seconds = Annotated[float, Field(gt=0)]


class FleetSettings(BaseSettings):
    """``LEAKRANGE_…``: where jobs come from and results go.

    ``models_dir`` is for workers with the queue ``train`` alone; the others never look there.
    """

    model_config = SettingsConfigDict(env_prefix="LEAKRANGE_", extra="ignore")

    redis_url: str = "redis://127.0.0.1:6379/0"
    broker_url: BrokerUrl = ""
    """Where messages about jobs come from; empty: from Redis. The same for the controller and all workers."""
    fleet_secret: RandomSecret | None = None
    """The controller's secret. A worker with the queue ``probe`` or ``audit`` derives its API keys from it
    and the key's name."""
    models_dir: Place = Path("models")
    releases_dir: Place = Path("releases")
    lease_seconds: Annotated[float, Field(ge=0.1, le=3600.0)] = 5.0
    """How long a job stays with a worker that has fallen silent; the same for all workers of a fleet."""
    request_timeout: Seconds = 60.0
    """The time limit of the whole answer to one probing request; longer than a proxy waits for its
    provider."""
    retries: Annotated[int, Field(ge=0, le=100)] = 20
    """How often a job is tried again after a server was down, full or talking nonsense: 20 times are more
    than a minute, in which a provider on a busy machine has restarted. A request that a proxy says is in
    flight, maybe only because a proxy died with it, is waited for besides, as long as that may last."""
    retry_pause: Seconds = 0.5
    """The pause before the first new try; doubled for each further one, up to 4 s."""
    train_threads: Annotated[int, Field(ge=1, le=256)] = 1
    train_device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto``: the GPU where there is one."""
    traces: Path | None = None
    """A folder to which each process writes its spans as JSON lines; None: none, or to a collector alone."""
    task_events: bool = False
    """Whether Celery's monitors, such as Flower, learn of the worker and its jobs."""
    metrics_port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    """The port at which the worker serves its metrics, at ``/metrics``; None: none."""
    host: str = "127.0.0.1"
    """The address of that port."""
    metrics_key: OptionalSecret = None
    """The key that readers of the metrics must show, if there is one."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
