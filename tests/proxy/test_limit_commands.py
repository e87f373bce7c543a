"""Limits by the command line, and by the operator's client that services use."""

from __future__ import annotations

import json

import pytest

from leakrange.wire.errors import Conflict, NotFound
from leakrange.wire.operator import Proxy
from leakrange.wire.tensors import encode_npy
from leakrange.wire.transport import AiohttpTransport
from tests.embedded import Done, leakrange
from tests.proxy.conftest import OPERATOR, Range, pictures, problem


def command(live: Range, *words: str) -> Done:
    return leakrange(
        *words, LEAKRANGE_URL=live.url, LEAKRANGE_PROXY_URL=live.url, LEAKRANGE_OPERATOR_KEY=OPERATOR
    )


def test_limits_are_made_named_by_keys_and_listed(live: Range) -> None:
    put = ("limits", "put", "units", "weighted", "units=12", "costs.features=5")
    made = command(live, *put)
    assert made.returncode == 0, made.stderr
    assert command(live, "limits", "put", "slow", "window", "samples=9", "seconds=60").returncode == 0
    created = command(live, "keys", "create", "me", "--budget", "50", "--limit", "units,slow", "--json")
    assert created.returncode == 0, created.stderr
    key = json.loads(created.stdout)
    assert key["limits"] == ["units", "slow"]
    told = live.post(key["key"], "features", encode_npy(pictures(3)))
    assert problem(told, 429, "budget-exhausted")["limit"] == "units"
    shown = command(live, "limits", "list")
    assert 'units=12, costs={"features":5}, other=1' in shown.stdout
    assert "samples, seconds" in shown.stdout
    listed = json.loads(command(live, "limits", "list", "--json").stdout)
    assert [limit["name"] for limit in listed["limits"]] == ["slow", "units"]
    refused = command(live, "limits", "delete", "slow")
    assert refused.returncode == 4
    assert "keys are bound by the limit 'slow'" in refused.stderr
    live.admin("PATCH", f"/keys/{key['id']}", {"limits": []})
    assert command(live, "limits", "delete", "slow").returncode == 0
    leased = command(live, "keys", "create", "me", "--budget", "5", "--counting", "leased", "--json")
    assert json.loads(leased.stdout)["counting"] == "leased"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("put", "a b", "global", "samples=1"), "is no limit's name"),
        (("put", "one", "global", "samples"), "'samples' is not PARAMETER=VALUE"),
        (("put", "one", "globl", "samples=1"), "did you mean 'global'?"),
        (("put", "one", "window", "samples=1"), "seconds: Field required"),
    ],
)
def test_mistakes_are_told(live: Range, words: tuple[str, ...], told: str) -> None:
    done = command(live, "limits", *words)
    assert done.returncode == 2
    assert told in done.stderr


async def test_the_operators_client_puts_limits_and_keys(live: Range) -> None:
    transport = AiohttpTransport(timeout=20)
    try:
        proxy = Proxy(transport, live.url, OPERATOR, attempts=1)
        await proxy.put_limit("all", "global", samples=5)
        made = await proxy.create_key("bot", 50, models=["digits"], limits=["all"], id="bot")
        live.query(made.key, pictures(4))
        assert (await proxy.create_key("bot", 50, id="bot")).spent == 4
        assert (await proxy.limit("all")).used == {"all": 4}
        with pytest.raises(Conflict):
            await proxy.delete_limit("all")
        await proxy.create_key("fast", 50, counting="leased", id="fast")
        assert live.account("fast")["counting"] == "leased"
        live.admin("PATCH", "/keys/bot", {"limits": []})
        await proxy.delete_limit("all")
        with pytest.raises(NotFound):
            await proxy.limit("all")
    finally:
        await transport.close()
