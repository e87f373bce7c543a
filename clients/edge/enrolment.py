"""Enrolment: a device takes a provider's model, and runs it only if it is what the provider's card says."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from leakrange.nets.classifier import Classifier
from leakrange.providers.model_file import ClassifierConfig, load_classifier
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import InvalidArtifact, NotFound
from leakrange.wire.schemas import ModelCard
from leakrange.wire.transport import Transport

__all__ = ["Enrolled", "Enrolments"]

ATTEMPTS = 8
"""Over some twenty seconds: a proxy or provider that is restarting is waited for."""


@dataclass(frozen=True)
class Enrolled:
    """A model on the device, and the line to its provider."""

    card: ModelCard
    classifier: Classifier
    client: NativeClient


class Enrolments:
    """The models of this device by name."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._enrolled: dict[str, Enrolled] = {}
        self._files: dict[str, tuple[Classifier, ClassifierConfig]] = {}
        self._lock = asyncio.Lock()

    def __getitem__(self, model: str) -> Enrolled:
        """Raises `NotFound` where the device has not enrolled for ``model``."""
        if model not in self._enrolled:
            raise NotFound(f"this device has not enrolled for {model!r}", hint="POST /v1/enrolments first")
        return self._enrolled[model]

    async def enrol(self, url: str, api_key: str, model: str) -> Enrolled:
        """Ask for the card, and download the model where this device does not have exactly that file yet.

        Raises `InvalidArtifact` where the file is not the one that the card names or is no model, and
        whatever the other side answers.
        """
        client = NativeClient(self._transport, url, api_key, attempts=ATTEMPTS)
        card = await client.card(model)
        async with self._lock:
            if card.sha256 not in self._files:
                self._files[card.sha256] = await self._download(client, card)
        classifier, config = self._files[card.sha256]
        if (list(config.classes), tuple(config.shape)) != (card.classes, card.input_shape):
            raise InvalidArtifact(f"the file of model {model!r} has other classes or inputs than its card")
        self._enrolled[model] = Enrolled(card, classifier, client)
        return self._enrolled[model]

    async def _download(self, client: NativeClient, card: ModelCard) -> tuple[Classifier, ClassifierConfig]:
        content = await client.artifact(card.name)
        found = hashlib.sha256(content).hexdigest()
        if found != card.sha256:
            raise InvalidArtifact(
                f"the file of {card.name!r} has SHA-256 {found[:12]}…, the card says {card.sha256[:12]}…",
                hint="something between this device and the provider changed it; nothing of it was run",
            )
        return await asyncio.to_thread(load_classifier, content)
