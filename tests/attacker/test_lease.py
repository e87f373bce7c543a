"""Leases and orphans in a real Redis, without workers."""

from __future__ import annotations

import redis

from leakrange.jobs.job import LEASE
from services.attacker.lease import Leases, Message
from services.attacker.settings import FleetSettings
from tests.attacker.fleet import until


def test_of_all_workers_one_sends_an_orphan_again(empty_redis_url: str) -> None:
    """Every worker looks every second: the job must not be sent as often as there are workers."""
    with redis.Redis.from_url(empty_redis_url) as client:
        message = Message("a-message", "leakrange.probe", "probe", {"kind": "probe"})
        assert Leases(client).take("an-identity", message) is not None
        workers = [Leases(client) for _ in range(3)]
        assert [worker.orphans() for worker in workers] == [[], [], []]
        client.delete(LEASE.format(identity="an-identity"))  # its worker died
        found = [worker.orphans() for worker in workers]
        assert [len(each) for each in found] == [1, 0, 0]
        [(identity, entry, again)] = found[0]
        assert (identity, again) == ("an-identity", message)
        workers[0].sent(identity, entry)
        assert [worker.orphans() for worker in workers] == [[], [], []]


def test_a_lease_lasts_as_long_as_the_fleet_is_told(empty_redis_url: str) -> None:
    """And its holder keeps it beyond that."""
    settings = FleetSettings(redis_url=empty_redis_url, lease_seconds=0.5)
    with redis.Redis.from_url(empty_redis_url) as client:
        leases = Leases(client, settings.lease_seconds)
        lease = leases.take("an-identity", Message("a-message", "leakrange.probe", "probe", {}))
        assert lease is not None
        name = LEASE.format(identity="an-identity")
        assert 0 < client.pttl(name) <= 500  # type: ignore[operator]
        client.pexpire(name, 60_000)
        with lease.beating(lambda: None):
            until(lambda: 0 < client.pttl(name) <= 500)  # type: ignore[operator]
        until(lambda: not client.exists(name))
        [(identity, _, _)] = leases.orphans()
        assert identity == "an-identity"
