"""Charging of a request, under the configuration that decides its route, its policy and its limits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import structlog

from leakrange.defences.output import Chain
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.forward import DataRequest, Forward
from leakrange.services.proxy.ledger import BudgetLedger, Charge, KeptAnswer, Replay, StaleConfiguration
from leakrange.services.proxy.limits import Ask, Bounds
from leakrange.services.proxy.limits.base import NO_BOUNDS
from leakrange.services.proxy.metrics import Metrics
from leakrange.services.proxy.queries import Query
from leakrange.services.proxy.releases import UploadBody
from leakrange.services.proxy.shadows import ShadowPolicy
from leakrange.services.proxy.sketches import sketches
from leakrange.services.proxy.snapshot import Base
from leakrange.wire.errors import BudgetExhausted, Forbidden, Unavailable, UnknownModel
from leakrange.wire.turns import apart

log = structlog.get_logger("leakrange.proxy")


class Admitted(NamedTuple):
    """A request that has been paid: its charge, its provider, and its policy."""

    charge: Charge
    base: Base
    policy: str
    """Name of the policy; empty where none holds."""
    chain: Chain
    shadow: ShadowPolicy | None = None


class Budgeting:
    """Charges for requests, and refunds those that providers did not answer."""

    def __init__(
        self,
        configuration: Configuration,
        ledger: BudgetLedger,
        metrics: Metrics,
        forward: Forward,
        secret: bytes,
    ) -> None:
        """Keep the parts; ``secret`` keys the sketches of samples."""
        self._configuration, self._ledger, self._metrics = configuration, ledger, metrics
        self._forward, self._secret = forward, secret

    async def admit(self, fingerprint: str, model: str, endpoint: str, idempotency_key: str | None) -> None:
        """Refuse a key that has nothing left, before its large body is read."""
        while True:
            snapshot, key = self._configuration.snapshot, await self._configuration.key(fingerprint)
            if key.leased and self._ledger.leases.holds(key.id):
                return
            try:
                return await self._ledger.admit(key.id, snapshot.version, idempotency_key)
            except StaleConfiguration:
                await self._configuration.refresh()
            except BudgetExhausted as error:
                policy = ""
                with contextlib.suppress(Forbidden):
                    policy = snapshot.bound(key.id, model, endpoint).name
                self._metrics.count("refused", policy, error.extra["asked"])
                raise

    async def charge(self, request: DataRequest, content: Query | UploadBody) -> Admitted | Replay:
        """Charge for a request, under the configuration that decides route and policy. The configuration is
        read anew if it has changed."""
        configuration, samples, release = self._configuration, content.samples, content.release
        while True:
            snapshot = configuration.snapshot
            key = await configuration.key(request.fingerprint)
            try:
                base = snapshot.route(key, request.model, request.endpoint)
                policy, chain = snapshot.bound(key.id, request.model, request.endpoint)
                limits = snapshot.limits_of(key)
                if release is not None and (reason := chain.refuse(release)):
                    raise Forbidden(f"the policy of this request releases no {release}: {reason}")
                bounds = NO_BOUNDS
                if limits:
                    sketched: Sequence[str] = ()
                    if any(limit.sketched for _, limit in limits):
                        sketched = await self._sketches(request, content, base)
                    ask = Ask(key.id, request.model, request.endpoint, samples, sketched, chain.price)
                    bounds = Bounds.of(limits, ask)
            except (UnknownModel, Forbidden):
                if await configuration.refresh() is snapshot:
                    raise
                continue  # the refusal came from an old configuration
            try:
                if request.idempotency is None and key.leased and not limits:
                    charge = await self._ledger.charge_leased(key.id, snapshot.version, samples)
                elif request.idempotency is None:
                    charge = await self._ledger.charge(key.id, snapshot.version, samples, bounds)
                else:
                    reserved = await self._ledger.reserve(
                        key.id, snapshot.version, samples, request.idempotency, bounds
                    )
                    if isinstance(reserved, Replay):
                        self._metrics.count("replayed", policy, samples)
                        return reserved
                    charge = reserved
                for name, limit in limits:
                    if (number := charge.numbers.get(name)) is not None:
                        chain = limit.defend(chain, number, samples)
                shadow = None
                if (bound := snapshot.shadow(key.id, request.model, request.endpoint)) is not None:
                    binding, shadowing = bound
                    shadow = ShadowPolicy(binding, shadowing, snapshot.policies[shadowing])
                return Admitted(charge, base, policy, chain, shadow)
            except StaleConfiguration:
                await configuration.refresh()
            except BudgetExhausted as error:
                self._metrics.count("refused", policy, error.extra["asked"])
                refused_by = error.extra.get("limit")
                error.detail += "".join(limit.explanation for name, limit in limits if name == refused_by)
                raise

    async def _sketches(self, request: DataRequest, content: Query | UploadBody, base: Base) -> Sequence[str]:
        inputs = await self._forward.model_inputs(request, content, base)
        if isinstance(content, Query) and content.pairs:
            inputs = inputs.reshape(-1, *inputs.shape[2:])
        return await apart(partial(sketches, inputs, self._secret), inputs.nbytes)

    async def close(self) -> None:
        """Settle the leases; no charge may follow."""
        await self._ledger.close()

    async def settle(self, paid: Admitted, answer: KeptAnswer) -> None:
        """Settle a charge after the provider answered, before its answer is sent."""
        await self._ledger.settle(paid.charge, answer)
        self._metrics.count("answered", paid.policy, paid.charge.samples)

    async def refund(self, paid: Admitted) -> None:
        """Refund a charge after the provider failed. Where Redis cannot be reached either, a reservation
        comes back when it answers again, and an immediate charge stays spent."""
        charge = paid.charge
        self._metrics.count("refunded", paid.policy, charge.samples)
        try:
            await self._ledger.refund(charge)
        except Unavailable:
            log.warning("refund failed", key_id=charge.key_id, samples=charge.samples)
