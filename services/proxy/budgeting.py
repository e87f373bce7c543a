"""Charges a request under the configuration that decides its route, its policy and its limits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import structlog

from leakrange.defences.output import Chain
from leakrange.wire.errors import BudgetExhausted, Forbidden, Unavailable, UnknownModel
from leakrange.wire.turns import apart
from services.proxy.configuration import Configuration
from services.proxy.forward import Asked, Forward
from services.proxy.ledger import Charge, KeptAnswer, Ledger, Replay, StaleConfiguration
from services.proxy.limits import Ask, Bounds
from services.proxy.limits.base import NO_BOUNDS
from services.proxy.metrics import Metrics
from services.proxy.queries import Query
from services.proxy.releases import Upload
from services.proxy.shadows import Shadow
from services.proxy.sketches import sketches

log = structlog.get_logger("leakrange.proxy")


class Admitted(NamedTuple):
    """A request that has been paid: its charge, and where it goes under which policy."""

    charge: Charge
    base: str
    policy: str
    """Its name; empty where none holds."""
    chain: Chain
    shadow: Shadow | None = None


class Budgeting:
    """Pays for requests, and gives back what providers did not answer."""

    def __init__(
        self, configuration: Configuration, ledger: Ledger, metrics: Metrics, forward: Forward, secret: bytes
    ) -> None:
        """``secret`` keys the sketches of samples."""
        self._configuration, self._ledger, self._metrics = configuration, ledger, metrics
        self._forward, self._secret = forward, secret

    async def admit(self, fingerprint: str, model: str, endpoint: str, idempotency_key: str | None) -> None:
        """Refuse a key that has nothing left, before its large body is read."""
        key = await self._configuration.key(fingerprint)
        if key.leased and self._ledger.leases.holds(key.id):
            return
        try:
            await self._ledger.admit(fingerprint, idempotency_key)
        except BudgetExhausted as error:
            policy = ""
            with contextlib.suppress(Forbidden):
                policy = self._configuration.snapshot.bound(key.id, model, endpoint).name
            self._metrics.count("refused", policy, error.extra["asked"])
            raise

    async def charge(self, asked: Asked, told: Query | Upload) -> Admitted | Replay:
        """Charge what a request asks, under the configuration that decides route and policy, read anew if it
        has changed."""
        configuration, samples, release = self._configuration, told.samples, told.release
        while True:
            snapshot = configuration.snapshot
            key = await configuration.key(asked.fingerprint)
            try:
                base = snapshot.route(key, asked.model, asked.endpoint)
                policy, chain = snapshot.bound(key.id, asked.model, asked.endpoint)
                limits = snapshot.limits_of(key)
                if release is not None and (reason := chain.refuse(release)):
                    raise Forbidden(f"the policy of this request releases no {release}: {reason}")
            except (UnknownModel, Forbidden):
                if await configuration.refresh() is snapshot:
                    raise
                continue  # it was an old configuration that refused
            bounds = NO_BOUNDS
            if limits:
                sketched: Sequence[str] = ()
                if any(limit.sketched for _, limit in limits):
                    sketched = await self._sketches(asked, told, base)
                bounds = Bounds.of(limits, Ask(key.id, asked.model, asked.endpoint, samples, sketched))
            try:
                if asked.idempotency is None and key.leased and not limits:
                    charge = await self._ledger.charge_leased(key.id, snapshot.version, samples)
                elif asked.idempotency is None:
                    charge = await self._ledger.charge(key.id, snapshot.version, samples, bounds)
                else:
                    reserved = await self._ledger.reserve(
                        key.id, snapshot.version, samples, asked.idempotency, bounds
                    )
                    if isinstance(reserved, Replay):
                        self._metrics.count("replayed", policy, samples)
                        return reserved
                    charge = reserved
                for name, limit in limits:
                    if (number := charge.told.get(name)) is not None:
                        chain = limit.defend(chain, number, samples)
                shadow = None
                if (found := snapshot.shadow(key.id, asked.model, asked.endpoint)) is not None:
                    binding, shadowing = found
                    shadow = Shadow(binding, shadowing, snapshot.policies[shadowing])
                return Admitted(charge, base, policy, chain, shadow)
            except StaleConfiguration:
                await configuration.refresh()
            except BudgetExhausted as error:
                self._metrics.count("refused", policy, error.extra["asked"])
                raise

    async def _sketches(self, asked: Asked, told: Query | Upload, base: str) -> Sequence[str]:
        seen = await self._forward.seen(asked, told, base)
        if isinstance(told, Query) and told.pairs:
            seen = seen.reshape(-1, *seen.shape[2:])
        return await apart(partial(sketches, seen, self._secret), seen.nbytes)

    async def close(self) -> None:
        """Settle what is leased; no charge may follow."""
        await self._ledger.close()

    async def settle(self, paid: Admitted, answer: KeptAnswer) -> None:
        """The provider answered; this comes before its answer is sent."""
        await self._ledger.settle(paid.charge, answer)
        self._metrics.count("answered", paid.policy, paid.charge.samples)

    async def refund(self, paid: Admitted) -> None:
        """The provider failed. Where Redis cannot be reached either, a reservation comes back when it answers
        again, and what was charged at once stays spent."""
        charge = paid.charge
        self._metrics.count("refunded", paid.policy, charge.samples)
        try:
            await self._ledger.refund(charge)
        except Unavailable:
            log.warning("refund failed", key_id=charge.key_id, samples=charge.samples)
