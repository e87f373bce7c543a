"""The fleet's queues for their sender: sends messages, and counts those that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from uuid import uuid4

import redis.asyncio as aioredis
from celery import Celery
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from leakrange.jobs.step import Step
from leakrange.service.broker import speaks_amqp

__all__ = ["Message", "Queues"]

Message = tuple[Step, str, Mapping[str, str]]
"""The step, the identity, and the headers that the worker gets."""
NO_QUEUE = 404
"""AMQP's reply to a client that asks for a queue that nobody has declared."""


class Queues:
    """The broker is ``broker_url``, or Redis (``client``, at ``redis_url``) if that is empty."""

    def __init__(self, client: aioredis.Redis, redis_url: str, broker_url: str = "") -> None:
        self._client = client
        broker = broker_url or redis_url
        self._amqp = speaks_amqp(broker)
        self.name = "RabbitMQ" if self._amqp else "Redis"
        self._broker_client = (
            aioredis.Redis.from_url(broker) if broker != redis_url and not self._amqp else None
        )
        self._celery = Celery("leakrange", broker=broker)
        self._celery.conf.update(
            task_serializer="json", broker_connection_retry_on_startup=True, task_ignore_result=True
        )
        if self._amqp:
            # A message counts as sent when the broker says that it has it.
            options = {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10}
            self._celery.conf.broker_transport_options = options

    async def send(self, messages: Sequence[Message]) -> None:
        """Send messages. Raises `OperationalError` or `OSError` if the broker does not answer; some may have
        been sent then."""
        await asyncio.to_thread(self._publish, messages)

    def _publish(self, messages: Sequence[Message]) -> None:
        # As `Celery.send_task` does, at a third of its cost: the message protocol is Celery's, version 2.
        policy = self._celery.conf.task_publish_retry_policy
        with self._celery.producer_pool.acquire(block=True) as producer:
            for step, identity, headers in messages:
                task = str(uuid4())
                producer.publish(
                    [[identity], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}],
                    headers={
                        "lang": "py",
                        "task": f"leakrange.{step.name}",
                        "id": task,
                        "root_id": task,
                        "parent_id": None,
                        "group": None,
                        **headers,
                    },
                    correlation_id=task,
                    exchange="",
                    routing_key=step.queue,
                    declare=[self._celery.amqp.queues[step.queue]],
                    serializer="json",
                    retry=True,
                    retry_policy=policy,
                )

    async def waiting(self, queues: Iterable[str]) -> dict[str, int]:
        """The number of messages that no worker has yet, for each queue; 0 if the queue is lost. Raises
        `OSError`, or what the Redis client raises."""
        if self._amqp:
            return await asyncio.to_thread(self._declared, tuple(queues))
        client = self._broker_client or self._client
        return {queue: await client.llen(queue) for queue in queues}

    async def ping(self) -> None:
        """Raise `OSError` if the broker does not answer. (The Redis of orders is pinged by the fleet, which
        keeps them.)"""
        if self._amqp:
            await asyncio.to_thread(self._declared, ())
        elif self._broker_client is not None:
            try:
                await self._broker_client.ping()
            except RedisError as error:
                raise OSError(f"Redis does not answer: {error}") from error

    async def close(self) -> None:
        """Close all connections."""
        if self._broker_client is not None:
            await self._broker_client.aclose()
        await asyncio.to_thread(self._celery.close)

    def _declared(self, queues: tuple[str, ...]) -> dict[str, int]:
        # A connection of the pool that messages are sent through.
        with self._celery.pool.acquire(block=True) as connection:
            try:
                connection.ensure_connection(max_retries=1, interval_start=0.2)
                return {queue: self._length(connection, queue) for queue in queues}
            except (OperationalError, *connection.connection_errors) as error:
                connection.collect()  # the next one finds no dead connection in the pool
                raise OSError(f"RabbitMQ does not answer: {error}") from error

    def _length(self, connection: Connection, queue: str) -> int:
        try:
            with connection.channel() as channel:  # type: ignore[no-untyped-call]
                return int(channel.queue_declare(queue, passive=True).message_count)
        except connection.channel_errors as error:
            if getattr(error, "reply_code", None) != NO_QUEUE:
                raise
        # Who sends through this connection believes that the queue is there, and would send into the void.
        with connection.channel() as channel:  # type: ignore[no-untyped-call]
            self._celery.amqp.queues[queue].bind(channel).declare()
        return 0
