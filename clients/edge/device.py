"""What happens on the device: images in, outputs out, and only outputs leave."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.edge.enrolment import Enrolled
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.providers.inference import outputs
from leakrange.wire.errors import InvalidInput
from leakrange.wire.jobs import ReleaseKind

__all__ = ["Device", "Sent"]


@dataclass(frozen=True)
class Sent:
    """What came of one upload: the decisions, and the outputs' size as they were sent, in bytes."""

    decisions: list[int]
    sent_bytes: int


class Device:
    """Runs models one at a time, on threads of its own, with its own secret for sticky noise."""

    def __init__(self) -> None:
        self._sticky_key = secrets.token_bytes(32)
        self._one_at_a_time = asyncio.Lock()

    async def use(
        self,
        enrolled: Enrolled,
        images: NDArray[np.uint8],
        release: ReleaseKind,
        defence: list[Any],
        upload: str | None = None,
    ) -> Sent:
        """Infer locally, defend locally, upload the outputs (once, under ``upload``), and give the provider's
        decisions.

        images: uint8 (B, H, W, C). Raises `InvalidInput` for images that are not the model's and for an
        unknown defence.
        """
        chain = Chain.parse(defence)
        refusal = chain.refuse(release)
        if refusal is not None:
            raise InvalidInput(refusal)
        async with self._one_at_a_time:
            values = await asyncio.to_thread(outputs, enrolled.classifier, images, release)
        model = enrolled.card.name
        digests = [
            hashlib.blake2b(f"{model}/{release}/".encode() + image.tobytes(), digest_size=32).digest()
            for image in images
        ]
        context = ReleaseContext(release=release, sticky_key=self._sticky_key, digests=digests)
        defended = chain.apply(values, context)
        decisions = await enrolled.client.upload(model, release, defended, idempotency_key=upload)
        if len(decisions) != len(images):
            raise InvalidInput(
                f"the provider decided on {len(decisions)} samples; {len(images)} were uploaded"
            )
        return Sent(decisions, defended.astype(np.float32).nbytes)
