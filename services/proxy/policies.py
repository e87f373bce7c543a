"""Policies, bindings and routes as the operator handles them."""

from __future__ import annotations

import orjson
from redis.asyncio.client import Pipeline

from leakrange.defences.output import Chain
from leakrange.services.proxy.configuration import Configuration, field, queue, read_binding, text
from leakrange.services.proxy.snapshot import Base, Binding
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.errors import Conflict, InvalidInput, NotFound


class PolicyStore:
    """Writes the configuration; every change is live with the next request of every proxy process.

    A write without a change does nothing, so all of them may be repeated.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration, self._names = configuration, configuration.names

    async def put_policy(self, name: str, chain: Chain) -> None:
        """Create or replace a policy."""
        await self._put(self._names.policies, name, orjson.dumps(chain.spec()))

    async def delete_policy(self, name: str) -> None:
        """Delete a policy. Raises `NotFound`, or `Conflict` while it is bound, since releases would go out
        undefended."""
        names = self._names

        async def write(pipeline: Pipeline) -> None:
            if not await pipeline.hexists(names.policies, name):
                raise NotFound(f"there is no policy {name!r}")
            bound = [
                read_binding(binding)._asdict()
                for table in (names.bindings, names.shadows)
                for binding, policy in (await pipeline.hgetall(table)).items()
                if text(policy) == name
            ]
            if bound:
                raise Conflict(f"the policy {name!r} is bound", hint="bind another one first", bindings=bound)
            queue(pipeline)
            pipeline.hdel(names.policies, name)

        await self._configuration.change(write, names.policies, names.bindings, names.shadows)

    async def put_binding(self, binding: Binding, policy: str, *, shadow: bool = False) -> None:
        """Bind a policy to a key, model or endpoint; or make it a shadow there (``shadow``).

        Raises `InvalidInput` for an unknown policy or key, or a policy that means nothing on the endpoint's
        releases.
        """
        names, table = self._names, self._table(shadow)

        async def write(pipeline: Pipeline) -> None:
            stored = await pipeline.hget(names.policies, policy)
            if stored is None:
                raise InvalidInput(f"there is no policy {policy!r}", hint="PUT the policy first")
            if binding.key is not None and not await pipeline.exists(names.record(binding.key)):
                raise InvalidInput(f"no key has the id {binding.key!r}", hint="POST the key first")
            kind = RELEASES.get(binding.endpoint or "")
            if kind is not None and (reason := Chain.parse(orjson.loads(stored)).refuse(kind)):
                raise InvalidInput(f"the policy {policy!r} cannot hold for {binding.endpoint}: {reason}")
            bound = await pipeline.hget(table, field(binding))
            if bound is None or text(bound) != policy:
                queue(pipeline)
                pipeline.hset(table, field(binding), policy)

        await self._configuration.change(write, names.policies, table)

    async def delete_binding(self, binding: Binding, *, shadow: bool = False) -> None:
        """Delete a binding, or a shadow. Raises `NotFound`."""
        await self._delete(self._table(shadow), field(binding), "shadow" if shadow else "binding")

    async def put_route(self, model: str, base: Base) -> None:
        """Send requests for a model to a provider, or to a target."""
        stored = base if isinstance(base, str) else base.model_dump_json(by_alias=True, exclude_unset=True)
        await self._put(self._names.routes, model, stored.encode())

    async def delete_route(self, model: str) -> None:
        """Delete a route. Raises `NotFound`."""
        await self._delete(self._names.routes, model, "route")

    def _table(self, shadow: bool) -> str:
        return self._names.shadows if shadow else self._names.bindings

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
