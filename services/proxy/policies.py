"""Policies, bindings and routes as the operator handles them."""

from __future__ import annotations

import orjson
from redis.asyncio.client import Pipeline

from leakrange.defences.output import Chain
from leakrange.services.proxy.configuration import (
    BINDINGS,
    KEY,
    POLICIES,
    ROUTES,
    SHADOWS,
    Configuration,
    field,
    queue,
    read_binding,
    text,
)
from leakrange.services.proxy.snapshot import Base, Binding
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.errors import Conflict, InvalidInput, NotFound


class PolicyStore:
    """Writes the configuration; every change is live with the next request of every proxy process.

    A write without a change does nothing, so all of them may be repeated.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    async def put_policy(self, name: str, chain: Chain) -> None:
        """Create or replace a policy."""
        await self._put(POLICIES, name, orjson.dumps(chain.spec()))

    async def delete_policy(self, name: str) -> None:
        """Delete a policy. Raises `NotFound`, or `Conflict` while it is bound, since releases would go out
        undefended."""

        async def write(pipeline: Pipeline) -> None:
            if not await pipeline.hexists(POLICIES, name):
                raise NotFound(f"there is no policy {name!r}")
            bound = [
                read_binding(binding)._asdict()
                for table in (BINDINGS, SHADOWS)
                for binding, policy in (await pipeline.hgetall(table)).items()
                if text(policy) == name
            ]
            if bound:
                raise Conflict(f"the policy {name!r} is bound", hint="bind another one first", bindings=bound)
            queue(pipeline)
            pipeline.hdel(POLICIES, name)

        await self._configuration.change(write, POLICIES, BINDINGS, SHADOWS)

    async def put_binding(self, binding: Binding, policy: str, table: str = BINDINGS) -> None:
        """Bind a policy to a key, model or endpoint; or make it a shadow there (``table`` SHADOWS).

        Raises `InvalidInput` for an unknown policy or key, or a policy that means nothing on the endpoint's
        releases.
        """

        async def write(pipeline: Pipeline) -> None:
            stored = await pipeline.hget(POLICIES, policy)
            if stored is None:
                raise InvalidInput(f"there is no policy {policy!r}", hint="PUT the policy first")
            if binding.key is not None and not await pipeline.exists(KEY + binding.key):
                raise InvalidInput(f"no key has the id {binding.key!r}", hint="POST the key first")
            kind = RELEASES.get(binding.endpoint or "")
            if kind is not None and (reason := Chain.parse(orjson.loads(stored)).refuse(kind)):
                raise InvalidInput(f"the policy {policy!r} cannot hold for {binding.endpoint}: {reason}")
            bound = await pipeline.hget(table, field(binding))
            if bound is None or text(bound) != policy:
                queue(pipeline)
                pipeline.hset(table, field(binding), policy)

        await self._configuration.change(write, POLICIES, table)

    async def delete_binding(self, binding: Binding, table: str = BINDINGS) -> None:
        """Delete a binding, or a shadow. Raises `NotFound`."""
        await self._delete(table, field(binding), "binding" if table == BINDINGS else "shadow")

    async def put_route(self, model: str, base: Base) -> None:
        """Send requests for a model to a provider, or to a target."""
        stored = base if isinstance(base, str) else base.model_dump_json(by_alias=True, exclude_unset=True)
        await self._put(ROUTES, model, stored.encode())

    async def delete_route(self, model: str) -> None:
        """Delete a route. Raises `NotFound`."""
        await self._delete(ROUTES, model, "route")

    async def _put(self, table: str, name: str, value: bytes) -> None:
        async def write(pipeline: Pipeline) -> None:
            if await pipeline.hget(table, name) != value:
                queue(pipeline)
                pipeline.hset(table, name, value)

        await self._configuration.change(write, table)

    async def _delete(self, table: str, name: str, kind: str) -> None:
        async def write(pipeline: Pipeline) -> None:
            if not await pipeline.hexists(table, name):
                raise NotFound(f"there is no such {kind}")
            queue(pipeline)
            pipeline.hdel(table, name)

        await self._configuration.change(write, table)
