"""What a worker of the fleet is told by its environment. It gets no operator key: what it learns, it
learns over the wire.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ["FleetSettings"]


class FleetSettings(BaseSettings):
    """Where jobs come from and results go.

    ``visibility_timeout``: seconds after which Redis gives a delivered job to another worker; chunks should
    be shorter, and what runs longer is kept from running twice by its lease. ``train_device``: where models
    are trained; "auto" takes a GPU if there is one.
    """

    model_config = SettingsConfigDict(env_prefix="LEAKRANGE_", extra="ignore")

    redis_url: str = "redis://127.0.0.1:6379/0"
    models_dir: Path = Path("models")
    releases_dir: Path = Path("releases")
    visibility_timeout: Annotated[int, Field(ge=6, le=86_400)] = 12
    train_threads: Annotated[int, Field(ge=1, le=256)] = 1
    train_device: Literal["auto", "cpu", "cuda"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
