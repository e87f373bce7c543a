"""What goes through Redis while a run's attackers ask."""

from __future__ import annotations

import base64
import binascii
import re
import threading

import redis

from leakrange.wire.keys import api_key
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, scenario, significant

ENCODED = re.compile(rb"[A-Za-z0-9+/=]{24,}")


def test_no_api_key_goes_through_redis(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    """Neither as it is nor in Celery's encoding; what stays of it in the ledger is a hash."""
    with redis.Redis.from_url(embedded_range.redis_url("operator")) as client, client.monitor() as monitor:
        said: list[str] = []

        def listen() -> None:
            for command in monitor.listen():
                said.append(command["command"])
                if said[-1].endswith("the run is over"):
                    return

        listening = threading.Thread(target=listen)
        listening.start()
        try:
            over = controller.run(scenario("watched", defences=significant(6)))
        finally:
            client.echo("the run is over")
            listening.join()
    assert over.view["state"] == "done"
    seen = "\n".join(said).encode()
    for part in ENCODED.findall(seen):
        try:
            seen += b"\n" + base64.b64decode(part, validate=True)
        except binascii.Error:
            continue  # a word that looks like it
    names = [entry["name"] for entry in over.results["ledger"]]
    assert any(".attacker.honest-s0.figures-6.q0" in name for name in names)
    assert b'"account"' in seen  # the jobs are there, and can be read
    for name in names:
        for secret in (embedded_range.folder.secret("fleet"), embedded_range.record.operator_key):
            assert api_key(secret, name).encode() not in seen
    assert not re.search(rb"lr_[0-9a-f]{16}", seen)
