"""Enrolling with a provider: fetch card and model, check the model against its card, load it safely."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace

import structlog

from leakrange.nets.classifier import Classifier
from leakrange.providers.model_config import ClassifierConfig
from leakrange.providers.model_file import load_classifier
from leakrange.wire.client import NativeClient
from leakrange.wire.errors import InvalidArtifact
from leakrange.wire.schemas import ModelCard
from leakrange.wire.transport import Transport

__all__ = ["Enrolment", "Enrolments"]

log = structlog.get_logger("leakrange.devices.enrolment")


@dataclass(frozen=True)
class Enrolment:
    """A model on this device: card, classifier (CPU, eval mode), and the size of its file in bytes."""

    url: str
    card: ModelCard
    classifier: Classifier
    config: ClassifierConfig
    size: int


class Enrolments:
    """The models on this device, at most ``most``, by URL and name."""

    def __init__(self, transport: Transport, *, most: int, attempts: int) -> None:
        self._transport, self._most, self._attempts = transport, most, attempts
        self._kept: OrderedDict[tuple[str, str], Enrolment] = OrderedDict()
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def client(self, url: str, key: str | None) -> NativeClient:
        """Return a client of the provider (or of the proxy before it) at ``url``."""
        return NativeClient(self._transport, url, key, attempts=self._attempts)

    async def current(self, url: str, key: str | None, model: str) -> Enrolment:
        """Return the version of ``model`` that the provider serves now; downloaded only if it is not here
        yet.

        Raises `InvalidArtifact` if the file is not the one that the card names, or no model, and the errors
        of the provider.
        """
        place = (url.rstrip("/"), model)
        async with self._locks.setdefault(place, asyncio.Lock()):
            client = self.client(url, key)
            card = await client.card(model)
            kept = self._kept.get(place)
            if kept is None or kept.card != card:
                kept = await self._download(client, card)
                self._kept[place] = kept
                log.info("enrolled", url=url, model=model, version=kept.card.version, bytes=kept.size)
            self._kept.move_to_end(place)
            while len(self._kept) > self._most:
                forgotten, _ = self._kept.popitem(last=False)
                self._locks.pop(forgotten, None)
            return kept

    async def _download(self, client: NativeClient, card: ModelCard) -> Enrolment:
        for kept in self._kept.values():
            if kept.card.sha256 == card.sha256:  # the same file, under another name or at another place
                _agree(card, kept.config)
                return replace(kept, url=client.url, card=card)
        content = await client.artifact(card.name)
        if not _is(content, card):
            # The provider may have deployed another version between the two requests: ask once more.
            card = await client.card(card.name)
            content = await client.artifact(card.name)
            if not _is(content, card):
                raise InvalidArtifact(
                    f"the model file of {card.name!r} is not the one that its card names: "
                    f"SHA-256 {hashlib.sha256(content).hexdigest()}, not {card.sha256}",
                    hint="it was changed on its way, or the provider is at fault; nothing of it was loaded",
                )
        classifier, config = await asyncio.to_thread(load_classifier, content)
        _agree(card, config)
        return Enrolment(client.url, card, classifier, config, len(content))


def _is(content: bytes, card: ModelCard) -> bool:
    return hashlib.sha256(content).hexdigest() == card.sha256


def _agree(card: ModelCard, config: ClassifierConfig) -> None:
    declared = (card.task, tuple(card.classes), card.heads, card.input, card.features)
    if declared != (config.target, config.classes, config.heads, config.input, config.features):
        raise InvalidArtifact(f"the model file of {card.name!r} does not fit its card")
