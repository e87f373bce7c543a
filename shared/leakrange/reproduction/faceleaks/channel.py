"""What an attacker sees: three student services, asked over HTTP through the proxy under a budget."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Samples
from leakrange.defences.output import Chain
from leakrange.service.operators import Providers, Proxy
from leakrange.store.files import FolderStore, get_array, put_array
from leakrange.wire.client import NativeClient
from leakrange.wire.digests import digest
from leakrange.wire.schemas import Deployment, StudentService
from leakrange.wire.transport import AiohttpTransport

__all__ = ["APIS", "Api", "Channel", "Range", "Service"]

Api = StudentService
APIS: tuple[Api, ...] = get_args(Api)
CHUNK = 256
ATTEMPTS = 20
AT_ONCE = 4
"""Chunks under way at a time."""


@dataclass(frozen=True)
class Range:
    """Where a range is: its proxy, the provider that serves the students, and the operator's key."""

    proxy: str
    provider: str
    operator_key: str


@dataclass(frozen=True)
class Service:
    """A deployed student: its name, and what it is."""

    model: str
    api: Api
    deployment: Deployment


class Channel:
    """Answers of deployed services, kept in ``store``: what was answered once is not asked again.

    Every question has an API key of its own, with a budget of exactly the samples that it takes.
    """

    def __init__(self, where: Range, store: Path) -> None:
        self._where, self._releases = where, FolderStore(store / "releases")
        self._opened = secrets.token_hex(4)
        self.asked = 0
        """Samples asked over HTTP by this channel."""

    def ask(
        self,
        service: Service,
        chain: Sequence[Any],
        people: Samples,
        samples: NDArray[np.int64],
        *,
        draw: int = 0,
        tell: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Releases (B, N) for the images of ``people`` that ``samples`` names: (B,), or pairs (B, 2).

        ``draw`` counts repetitions of a question. Raises what the services answer.
        """
        policy = Chain.parse(list(chain))
        served = service.deployment.answers()
        identity = digest([served, policy.spec(), people.fingerprint, samples.tolist(), draw])
        name = f"{identity}.npy"
        if self._releases.exists(name):
            return get_array(self._releases, name)
        answers = asyncio.run(self._ask(service, policy, people.values, samples, identity, tell))
        put_array(self._releases, name, answers)
        return answers

    async def _ask(
        self,
        service: Service,
        policy: Chain,
        images: NDArray[np.uint8],
        samples: NDArray[np.int64],
        identity: str,
        tell: Callable[[int], None],
    ) -> NDArray[np.float32]:
        transport = AiohttpTransport(timeout=120.0, connections=AT_ONCE)
        try:
            await self._prepare(transport, service, policy, identity, len(samples))
            proxy = Proxy(transport, self._where.proxy, self._where.operator_key, attempts=ATTEMPTS)
            client = NativeClient(
                transport, self._where.proxy, proxy.secret(self._key(identity)), attempts=ATTEMPTS
            )
            gate = asyncio.Semaphore(AT_ONCE)

            async def chunk(start: int) -> NDArray[np.float32]:
                async with gate:
                    part = np.ascontiguousarray(images[samples[start : start + CHUNK]])
                    found = await client.query(
                        service.model, service.api, part, idempotency_key=f"{identity}:{start}"
                    )
                    self.asked += len(part)
                    tell(len(part))
                    return found

            return np.concatenate(
                await asyncio.gather(*(chunk(start) for start in range(0, len(samples), CHUNK)))
            )
        finally:
            await transport.close()

    async def _prepare(
        self, transport: AiohttpTransport, service: Service, policy: Chain, identity: str, budget: int
    ) -> None:
        where = self._where
        providers = Providers(transport, {"honest": where.provider}, where.operator_key, attempts=ATTEMPTS)
        proxy = Proxy(transport, where.proxy, where.operator_key, attempts=ATTEMPTS)
        await providers.put("honest", service.model, service.deployment)
        await proxy.put_route(service.model, where.provider)
        rule = f"faceleaks-{policy.digest()[:24]}"
        await proxy.put_policy(rule, policy.spec())
        await proxy.put_key(
            self._key(identity), budget=budget, policy=rule, model=service.model, endpoints=[service.api]
        )

    def _key(self, identity: str) -> str:
        """A key of this channel's own: an asking that was interrupted long ago has spent a part of its key's
        budget, and the proxy has forgotten the answers."""
        return f"faceleaks-{identity[:32]}-{self._opened}"
