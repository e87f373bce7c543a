"""The settings of an edge client, from its environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakrange.jobs.audit import AuditPlan
from leakrange.service.settings import ServiceSettings

__all__ = ["EdgeSettings"]

Positive = Annotated[int, Field(ge=1)]


class EdgeSettings(ServiceSettings):
    """Variables ``LEAKRANGE_PORT``, ...; data sets are found through ``LEAKRANGE_DATA``."""

    max_batch: Positive = 256
    """Most samples of one request of the local app."""
    batch: Positive = 64
    """Samples that go through the net at once."""
    enrolled: Positive = 16
    """Models, and trained input defences, kept in memory; beyond that the least recently used is dropped."""
    obfuscator_bytes: Positive = 2**30
    """Most bytes of the files of these defences together; the one in use is kept in any case."""
    attempts: Positive = 8
    """Attempts of a request while the provider or proxy is away, over some twenty seconds."""
    threads: Positive = 1
    """Torch threads."""
    audit: AuditPlan | None = None
    """Use no model that does not pass this audit (JSON); None: a request may name a plan."""
