"""Leases in a real Redis, without workers."""

from __future__ import annotations

import redis

from leakrange.jobs.orders import CANCEL, LEASE
from leakrange.services.attacker.lease import leased
from tests.patience import until

NAME = LEASE.format(identity="an-identity")


def test_a_lease_is_one_workers_and_is_kept_for_as_long_as_it_works(empty_redis_url: str) -> None:
    with redis.Redis.from_url(empty_redis_url) as client:
        with leased(client, "an-identity", 0.5, lambda: None) as ours:
            assert ours
            with leased(client, "an-identity", 0.5, lambda: None) as theirs:
                assert not theirs
            assert client.exists(NAME)
            client.pexpire(NAME, 60_000)
            until(lambda: 0 < client.pttl(NAME) <= 500)  # type: ignore[operator]
        assert not client.exists(NAME)


def test_a_lease_that_was_lost_is_taken_back_or_left_to_whoever_has_it(empty_redis_url: str) -> None:
    with redis.Redis.from_url(empty_redis_url) as client:
        with leased(client, "an-identity", 0.5, lambda: None):
            client.delete(NAME)  # the process was halted for longer than that
            until(lambda: client.exists(NAME))
            client.set(NAME, "another worker's")
        assert client.get(NAME) == b"another worker's"


def test_the_holder_hears_once_that_its_job_is_cancelled(empty_redis_url: str) -> None:
    told: list[str] = []
    with (
        redis.Redis.from_url(empty_redis_url) as client,
        leased(client, "an-identity", 0.5, lambda: told.append("cancelled")),
    ):
        client.set(CANCEL.format(identity="an-identity"), "1")
        until(lambda: told)
        client.pexpire(NAME, 60_000)
        until(lambda: 0 < client.pttl(NAME) <= 500)  # type: ignore[operator]
    assert told == ["cancelled"]
