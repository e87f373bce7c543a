"""The fleet's queues, as who fills them sees them: sending a message, and counting those that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import redis.asyncio as aioredis
from celery import Celery
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from leakrange.service.broker import speaks_amqp

__all__ = ["Queues"]

NO_QUEUE = 404
"""AMQP's reply to who asks for a queue that nobody has declared."""


class Queues:
    """The broker is ``broker_url``, or Redis (``client``, at ``redis_url``) where that is empty."""

    def __init__(self, client: aioredis.Redis, redis_url: str, broker_url: str = "") -> None:
        self._client = client
        broker = broker_url or redis_url
        self._amqp = speaks_amqp(broker)
        self.name = "RabbitMQ" if self._amqp else "Redis"
        self._own = aioredis.Redis.from_url(broker) if broker != redis_url and not self._amqp else None
        self._celery = Celery("leakrange", broker=broker)
        self._celery.conf.update(
            task_serializer="json", broker_connection_retry_on_startup=True, task_ignore_result=True
        )
        if self._amqp:
            # A message counts as sent when the broker says that it has it.
            options = {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10}
            self._celery.conf.broker_transport_options = options

    async def send(self, kind: str, identity: str, headers: Mapping[str, str]) -> None:
        """Send a message that names the job. Raises `OperationalError` or `OSError` where the broker does not
        answer."""
        told = {"args": [identity], "queue": kind, "headers": dict(headers)}
        await asyncio.to_thread(self._celery.send_task, f"leakrange.{kind}", **told)

    async def waiting(self, kinds: Iterable[str]) -> dict[str, int]:
        """How many messages no worker has yet, for each queue; none where the queue is lost. Raises
        `OSError`, or what the Redis client raises."""
        if self._amqp:
            return await asyncio.to_thread(self._declared, tuple(kinds))
        client = self._own or self._client
        return {kind: await client.llen(kind) for kind in kinds}

    async def ping(self) -> None:
        """Raises `OSError` where the broker does not answer. (The Redis of orders is pinged by who keeps
        them.)"""
        if self._amqp:
            await asyncio.to_thread(self._declared, ())
        elif self._own is not None:
            try:
                await self._own.ping()
            except RedisError as error:
                raise OSError(f"Redis does not answer: {error}") from error

    async def close(self) -> None:
        """Close all connections."""
        if self._own is not None:
            await self._own.aclose()
        await asyncio.to_thread(self._celery.close)

    def _declared(self, kinds: tuple[str, ...]) -> dict[str, int]:
        # Of the pool that messages are sent through.
        with self._celery.pool.acquire(block=True) as connection:
            try:
                connection.ensure_connection(max_retries=1, interval_start=0.2)
                return {kind: self._length(connection, kind) for kind in kinds}
            except (OperationalError, *connection.connection_errors) as error:
                connection.collect()  # the next one finds no dead connection in the pool
                raise OSError(f"RabbitMQ does not answer: {error}") from error

    def _length(self, connection: Connection, kind: str) -> int:
        try:
            with connection.channel() as channel:  # type: ignore[no-untyped-call]
                return int(channel.queue_declare(kind, passive=True).message_count)
        except connection.channel_errors as error:
            if getattr(error, "reply_code", None) != NO_QUEUE:
                raise
        # Who sends through this connection believes that the queue is there, and would send into the void.
        with connection.channel() as channel:  # type: ignore[no-untyped-call]
            self._celery.amqp.queues[kind].bind(channel).declare()
        return 0
