"""Settings that every service shares, from environment variables ``LEAKRANGE_…``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from leakrange.service.variables import mistaken
from leakrange.wire.keys import all_keys, first_key

__all__ = ["OptionalSecret", "RandomSecret", "ServiceSettings", "WorkerCount", "read_settings"]

T = TypeVar("T", bound=BaseSettings)

PLACEHOLDERS = ("changeme", "change-me", "changethis", "secret", "password", "operator")


def _real_secret(secret: SecretStr, info: ValidationInfo) -> SecretStr:
    keys = all_keys(secret.get_secret_value())
    if any(len(key) < 16 or key.lower().startswith(PLACEHOLDERS) for key in keys):
        name = info.field_name or ""
        raise ValueError(
            f"the {name.replace('_', ' ')} must be a random secret of at least 16 characters: "
            f"set LEAKRANGE_{name.upper()}, e.g. to the output of 'openssl rand -hex 24'"
        )
    return secret


def _split(value: object) -> object:
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
WorkerCount = Annotated[int, Field(ge=1, le=256)]
"""How many processes serve one port."""
RandomSecret = Annotated[SecretStr, AfterValidator(_real_secret)]
"""A secret of which short and placeholder values are refused. While it is rotated it is several, with commas
between: the first is shown to others, and all are accepted (`leakrange.wire.keys`)."""
OptionalSecret = Annotated[RandomSecret | None, BeforeValidator(lambda key: key or None)]
"""A secret that may be missing, or empty."""


class ServiceSettings(BaseSettings):
    """Where a service listens and for whom, how it logs, and the operator key that guards its operator
    endpoints."""

    model_config = SettingsConfigDict(env_prefix="LEAKRANGE_", extra="ignore")

    host: str = "127.0.0.1"
    port: int = 8000
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    operator_key: RandomSecret
    """What the controller shows to the other parties' operator endpoints."""
    derivation_key: OptionalSecret = None
    """What names and versions of models, keys of runs and repeatable noise are derived from; None: the
    operator key. Whoever rotates that one sets it, so that these stay."""
    traces: Path | None = None
    """A folder to which each process writes its spans as JSON lines; None: none, or to a collector alone."""
    metrics_key: OptionalSecret = None
    """Who reads ``/metrics`` shows it, where there is one; else anybody who reaches the port may."""
    max_body: int = 32 * 1024 * 1024
    """Bytes of a request body under ``/v1/models/``; any other may have a megabyte at most. More is 413."""
    allowed_hosts: Names = ()
    """Names, separated by commas, by which clients may call this server, besides those of this machine
    (`leakrange.service.hosts`)."""
    header_timeout: Seconds = 10.0
    """For the whole header of a request, from the connection or the first byte on."""
    body_timeout: Seconds = 60.0
    """For the whole body of a request, from the header on; time in which the server does not read is not
    counted."""
    max_connections: Count = 8192
    """Open connections; at most three quarters of the files that the process may have open."""
    client_connections: Count = 1024
    """Open connections from one address; at most half of all."""
    client_unfinished: Count = 512
    """Of these, those whose request is incomplete; one more closes the one that has been silent longest."""

    @model_validator(mode="after")
    def _names_outlive_keys(self) -> Self:
        if self.derivation_key is None and len(all_keys(self.operator_key.get_secret_value())) > 1:
            raise ValueError(
                "with several operator keys, set LEAKRANGE_DERIVATION_KEY as well, to the key that was the "
                "only one before: names of models follow from it"
            )
        return self

    @property
    def shown_key(self) -> str:
        """The operator key that this party shows to others."""
        return first_key(self.operator_key.get_secret_value())

    @property
    def derivation_secret(self) -> str:
        """What names, keys of runs and noise are derived from."""
        return (self.derivation_key or self.operator_key).get_secret_value()


def read_settings(kind: type[T], party: str) -> T:
    """The settings of ``party`` from the environment; ends the process if they are invalid, or if a variable
    is set that nothing of Leakrange reads and that would be ignored."""
    mistakes = mistaken(os.environ)
    try:
        settings = kind()
    except ValidationError as error:
        # Without the values: one of them may be a secret.
        mistakes += [
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_input=False)
        ]
    except SettingsError as error:
        mistakes.append(f"{error}: {error.__cause__}")
    else:
        if not mistakes:
            return settings
    sys.exit(f"the {party}'s settings cannot be taken:\n  " + "\n  ".join(mistakes))
