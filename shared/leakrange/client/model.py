"""One model behind the native API, for its users."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from leakrange.client.waiting import wait
from leakrange.wire.client import NativeClient
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Classes, GalleryEntry, ModelCard
from leakrange.wire.transport import HttpxTransport

__all__ = ["Model"]

ATTEMPTS = 3


class Model:
    """A model at a proxy or a provider at ``url``, with an API ``key`` (None: a provider without a proxy).

    Arrays may hold any number of samples: they are sent in batches as large as the model takes. All methods
    raise the errors of the server, e.g. `BudgetExhausted`; batches that were answered before it are paid for.
    """

    def __init__(self, url: str, name: str, key: str | None = None, *, local: bool = False) -> None:
        self.name = name
        self._transport = HttpxTransport(trust_env=not local)
        self._client = NativeClient(self._transport, url, key, attempts=ATTEMPTS)

    @cached_property
    def card(self) -> ModelCard:
        """What the provider says of the model: its classes, what a sample looks like, what it releases."""
        return wait(self._client.card(self.name))

    def query(self, endpoint: str, samples: NDArray[Any]) -> NDArray[np.float32]:
        """The release (B, N) of samples (B, *shape) at an endpoint of the native API."""
        answers = [wait(self._client.query(self.name, endpoint, batch)) for batch in self._batches(samples)]
        return np.concatenate(answers) if answers else np.empty((0, 0), dtype=np.float32)

    def softmax(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        """Class probabilities (B, classes) of samples (B, *shape)."""
        return self.query("softmax", samples)

    def logits(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        """Logits (B, classes) of samples (B, *shape)."""
        return self.query("logits", samples)

    def features(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        """Feature vectors (B, features) of samples (B, *shape)."""
        return self.query("features", samples)

    def recognition(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        """Confidences (B, identities) that samples (B, *shape) show the service's identities."""
        return self.query("recognition", samples)

    def verification(self, pairs: NDArray[Any]) -> NDArray[np.float32]:
        """Distances (B, 1) within pairs of samples (B, 2, *shape)."""
        return self.query("verification", pairs)

    def verify(self, person: str, samples: NDArray[Any]) -> NDArray[np.float32]:
        """Distances (B, 1) of samples (B, *shape) to an enrolled person."""
        answers = [
            wait(self._client.verify_person(self.name, person, batch)) for batch in self._batches(samples)
        ]
        return np.concatenate(answers) if answers else np.empty((0, 1), dtype=np.float32)

    def enrol(self, person: str, samples: NDArray[Any]) -> GalleryEntry:
        """Enrol a person by samples (B, *shape), or replace one."""
        return wait(self._client.enrol(self.name, person, samples))

    def upload(self, release: ReleaseKind, values: NDArray[np.float32]) -> Classes:
        """Send outputs (B, N) that a device computed; returns the provider's decisions on them, one class
        each."""
        decided: list[Any] = []
        for batch in self._batches(values):
            decided += wait(self._client.upload(self.name, release, batch))
        return decided

    def artifact(self) -> bytes:
        """Return the model file (safetensors), if the key may have it."""
        return wait(self._client.artifact(self.name))

    def close(self) -> None:
        """Close all connections."""
        wait(self._transport.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _batches(self, samples: NDArray[Any]) -> list[NDArray[Any]]:
        size = self.card.max_batch
        return [samples[start : start + size] for start in range(0, len(samples), size)]
