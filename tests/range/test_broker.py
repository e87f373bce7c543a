"""What goes through Redis while a run's attackers ask."""

from __future__ import annotations

import base64
import binascii
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

import redis

from leakrange.service.parties import SERVERS
from leakrange.wire.keys import api_key
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, scenario, significant

ENCODED = re.compile(rb"[A-Za-z0-9+/=]{24,}")


def test_no_api_key_goes_through_redis(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    """Neither as it is nor in Celery's encoding; what stays of it in the ledger is a hash."""
    with ExitStack() as stack:
        heard = [
            stack.enter_context(_overheard(embedded_range.redis_url("operator", each))) for each in SERVERS
        ]
        over = controller.run(scenario("watched", defences=significant(6)))
    assert over.view["state"] == "done"
    seen = "\n".join(chain(*heard)).encode()
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


@contextmanager
def _overheard(url: str) -> Iterator[list[str]]:
    """All commands that a server gets until the block ends."""
    commands: list[str] = []
    with redis.Redis.from_url(url) as client, client.monitor() as monitor:

        def listen() -> None:
            for command in monitor.listen():
                commands.append(command["command"])
                if commands[-1].endswith("the run is over"):
                    return

        listening = threading.Thread(target=listen)
        listening.start()
        try:
            yield commands
        finally:
            client.echo("the run is over")
            listening.join()
