"""A client of the native API, for providers and proxies, over either transport."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.wire.answers import Answer
from leakrange.wire.calling import call
from leakrange.wire.endpoints import ARTIFACT, GALLERY, OBFUSCATORS, UPLOADS
from leakrange.wire.errors import InvalidInput, MalformedBody, UpstreamFailed
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Classes, Decisions, GalleryEntry, ModelCard
from leakrange.wire.tensors import NPY, decode_npy, encode_npy, release_array
from leakrange.wire.transport import Transport

__all__ = ["NativeClient", "call"]


@contextmanager
def _understanding(url: str) -> Iterator[None]:
    """Raise `UpstreamFailed` if a server's answer cannot be read."""
    try:
        yield
    except (MalformedBody, InvalidInput) as error:
        raise UpstreamFailed(f"the answer from {url} cannot be used: {error.detail}") from error
    except (ValidationError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UpstreamFailed(
            f"the answer from {url} is not of the native API", hint="is it a provider?"
        ) from error


class NativeClient:
    """The native API of one provider or proxy at ``url``, with the API key ``key`` (None: a provider without
    a proxy)."""

    def __init__(self, transport: Transport, url: str, key: str | None = None, *, attempts: int = 1) -> None:
        self.transport, self.url, self.key, self.attempts = transport, url.rstrip("/"), key, attempts

    async def models(self) -> list[ModelCard]:
        """The cards of all models that this key may use."""
        answer = await self._call("GET", "/v1/models")
        with _understanding(self.url):
            return [ModelCard.model_validate(card) for card in orjson.loads(answer.body)["models"]]

    async def card(self, model: str) -> ModelCard:
        """One model's card."""
        answer = await self._call("GET", f"/v1/models/{model}")
        with _understanding(self.url):
            return ModelCard.model_validate_json(answer.body)

    async def artifact(self, model: str) -> bytes:
        """Return the public artifact, a safetensors file; check its SHA-256 against the card's before loading
        it."""
        return (await self._call("GET", f"/v1/models/{model}/{ARTIFACT}", {"Accept": "*/*"})).body

    async def obfuscator(self, digest: str) -> bytes:
        """Return the proxy's file of a trained obfuscator; check its SHA-256 before loading it."""
        return (await self._call("GET", f"/v1/{OBFUSCATORS}/{digest}", {"Accept": "*/*"})).body

    async def query(
        self, model: str, endpoint: str, samples: NDArray[Any], *, idempotency_key: str | None = None
    ) -> NDArray[np.float32]:
        """The release (B, N) of samples (B, *shape) at an endpoint. A recognition gives confidences in its
        identities, a verification distances (B, 1) within pairs (B, 2, *shape)."""
        path = f"/v1/models/{model}/{endpoint}"
        answer = await self._send("POST", path, samples, idempotency_key, Accept=NPY)
        with _understanding(self.url):
            values = release_array(decode_npy(answer.body), max_samples=len(samples))
        if len(values) != len(samples):
            raise UpstreamFailed(f"{self.url} answered {len(values)} of {len(samples)} samples")
        return values

    async def verify_person(
        self, model: str, person: str, samples: NDArray[Any], *, idempotency_key: str | None = None
    ) -> NDArray[np.float32]:
        """The distances (B, 1) of samples (B, *shape) to an enrolled person."""
        endpoint = f"verification?person={quote(person, safe='')}"
        return await self.query(model, endpoint, samples, idempotency_key=idempotency_key)

    async def enrol(
        self, model: str, person: str, samples: NDArray[Any], *, idempotency_key: str | None = None
    ) -> GalleryEntry:
        """Enrol a person with a verification by samples (B, *shape), or replace one."""
        path = f"/v1/models/{model}/{GALLERY}/{quote(person, safe='')}"
        answer = await self._send("PUT", path, samples, idempotency_key)
        with _understanding(self.url):
            return GalleryEntry.model_validate_json(answer.body)

    async def upload(
        self,
        model: str,
        release: ReleaseKind,
        values: NDArray[np.float32],
        *,
        idempotency_key: str | None = None,
    ) -> Classes:
        """Upload outputs (samples, N), as an edge client does. Returns the decisions: per sample a class
        index, or a list of them."""
        path, sent = f"/v1/models/{model}/{UPLOADS}", values.astype(np.float32)
        answer = await self._send("POST", path, sent, idempotency_key, **{"X-Release": release})
        with _understanding(self.url):
            decisions = Decisions.model_validate_json(answer.body).decisions
        if len(decisions) != len(values):
            raise UpstreamFailed(f"{self.url} decided on {len(decisions)} of {len(values)} samples")
        return decisions

    async def _send(
        self, method: str, path: str, values: NDArray[Any], idempotency_key: str | None, **headers: str
    ) -> Answer:
        headers["Content-Type"] = NPY
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return await self._call(method, path, headers, encode_npy(values))

    async def _call(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        url, tries = self.url + path, self.attempts
        return await call(
            self.transport, method, url, key=self.key, body=body, headers=headers, attempts=tries
        )
