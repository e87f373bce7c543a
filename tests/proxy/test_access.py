"""Who may do what: keys, models, endpoints, and what never passes the proxy."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import httpx
import pytest
import redis
from redis.asyncio import Redis

from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.keys import fingerprint
from leakrange.services.proxy.names import LedgerNames
from leakrange.services.proxy.pipe import Pipe
from leakrange.wire.client import NativeClient
from leakrange.wire.tensors import encode_npy
from leakrange.wire.transport import AiohttpTransport
from tests.proxy.conftest import OPERATOR, Range, pictures, problem
from tests.proxy.servers import clean

BODY = encode_npy(pictures(1))


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Basic abc", "Bearer lr_wrong", f"Bearer {OPERATOR}", "Bearer \xe9\xff"],
)
def test_without_a_known_key_nothing_is_answered(live: Range, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode("latin-1")}
    for method, path in (("POST", "/logits"), ("GET", ""), ("GET", "/artifact")):
        answer = live.client.request(
            method, f"{live.url}/v1/models/digits{path}", headers=headers, content=BODY
        )
        problem(answer, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    problem(live.client.get(f"{live.url}/v1/models", headers=headers), 401, "unauthenticated")
    assert live.provider.seen == []


def test_a_revoked_key_is_unknown_at_once_in_every_process(live: Range, another: Any) -> None:
    key, second = live.key(100), another()
    for proxy in (live, second):
        assert proxy.post(key, "logits", BODY).status_code == 200  # cached in both
    live.admin("PATCH", "/keys/key", {"revoked": True})
    for proxy in (live, second):
        problem(proxy.post(key, "logits", BODY), 401, "unauthenticated")
        assert proxy.client.get(f"{proxy.url}/v1/models", headers=_bearer(key)).status_code == 401
    assert live.account()["spent"] == 2
    assert live.account()["revoked"]


def test_keys_are_stored_as_hashes_only(live: Range) -> None:
    key = live.key(1)
    live.post(key, "logits", BODY, Idempotency_Key="k")
    assert key.startswith("lr_")
    assert len(key) == 3 + 43
    with redis.Redis.from_url(live.redis_url) as store:
        everything = b""
        for name in store.keys("*"):
            kind = store.type(name)
            read = {b"string": store.get, b"hash": store.hgetall, b"set": store.smembers}.get(kind)
            everything += name + (repr(read(name)).encode() if read else b"")
    assert hashlib.sha256(key.encode()).hexdigest().encode() in everything
    assert key.encode() not in everything
    assert key[3:].encode() not in everything


def test_a_key_sees_and_uses_its_models_only(live: Range) -> None:
    for model in ("faces", "hidden"):
        live.admin("PUT", f"/routes/{model}", {"upstream": live.provider_url})
    key = live.key(10, models=["digits", "faces"])

    def get(path: str) -> httpx.Response:
        return live.client.get(f"{live.url}/v1/models{path}", headers=_bearer(key))

    assert [card["name"] for card in get("").json()["models"]] == ["digits", "faces"]
    assert get("/faces").json()["name"] == "faces"
    problem(get("/hidden"), 403, "forbidden")
    problem(get("/nowhere"), 404, "unknown-model")
    url = f"{live.url}/v1/models/hidden/logits"
    problem(live.client.post(url, content=BODY, headers=_bearer(key)), 403, "forbidden")
    live.admin("PATCH", "/keys/key", {"models": None})
    assert [card["name"] for card in get("").json()["models"]] == ["digits", "faces", "hidden"]
    live.admin("DELETE", "/routes/faces")
    assert [card["name"] for card in get("").json()["models"]] == ["digits", "hidden"]
    problem(get("/faces"), 404, "unknown-model")
    assert live.account()["spent"] == 0


def test_a_model_whose_provider_is_down_is_not_listed(live: Range) -> None:
    live.admin("PUT", "/routes/lost", {"upstream": "http://127.0.0.1:9"})
    answer = live.client.get(f"{live.url}/v1/models", headers=_bearer(live.key()))
    assert [card["name"] for card in answer.json()["models"]] == ["digits"]


def test_a_key_may_be_kept_from_the_artifact(live: Range) -> None:
    """Who has the model can compute undefended releases: an attacker's key must not fetch it."""
    free, bound = live.key(), live.key(id="bound", endpoints=["logits"])
    url = f"{live.url}/v1/models/digits/artifact"
    whole = live.client.get(url, headers=_bearer(free))
    assert whole.content == b"safetensors" * 100_000
    assert whole.headers["content-type"] == "application/octet-stream"
    assert int(whole.headers["content-length"]) == len(whole.content)
    problem(live.client.get(url, headers=_bearer(bound)), 403, "forbidden")
    assert live.post(bound, "logits", BODY).status_code == 200
    problem(live.post(bound, "softmax", BODY), 403, "forbidden")


@pytest.mark.parametrize(
    "binding",
    [{}, {"key": "key"}, {"model": "digits"}, {"model": "digits", "endpoint": "outputs"}],
    ids=lambda binding: "+".join(binding) or "default",
)
def test_no_key_goes_round_a_policy_unless_it_was_made_for_that(live: Range, binding: dict[str, str]) -> None:
    """With a budget of 0 and argmax bound, the model's file would give every logit."""
    key, device = live.key(0), live.key(0, id="device", endpoints=["artifact", "outputs"])
    live.admin("PUT", "/routes/faces", {"upstream": live.provider_url})

    def get(key: str, path: str) -> httpx.Response:
        return live.client.get(f"{live.url}/v1/models{path}", headers=_bearer(key))

    def told(key: str) -> list[tuple[str, int]]:
        cards = [get(key, "/digits").json(), get(key, "").json()["models"][0]]
        return [(card["sha256"], card["parameters"]) for card in cards]

    live.policy(bind=False, name="nothing")
    live.admin("PUT", "/bindings", {**binding, "policy": "nothing"})
    assert get(key, "/digits/artifact").status_code == 200  # a policy without stages defends nothing
    live.policy("argmax", bind=False)
    live.admin("PUT", "/bindings", {**binding, "policy": "policy"})
    before = len(live.provider.seen)
    for path in ("artifact", "gallery"):
        refused = problem(get(key, f"/digits/{path}"), 403, "forbidden")
        assert "a policy holds" in refused["detail"]
        assert f"names '{path}' among the key's endpoints" in refused["hint"]
    assert len(live.provider.seen) == before
    assert told(key) == [("", 0)] * 2  # nothing of a file that this key may not have
    assert get(device, "/digits/artifact").content == b"safetensors" * 100_000
    assert told(device) == [("0" * 64, 960)] * 2
    assert get(key, "/faces/artifact").status_code == (200 if "model" in binding else 403)
    live.admin("PATCH", "/keys/key", {"endpoints": ["logits", "artifact"]})
    assert get(key, "/digits/artifact").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/operator/models/digits",
        "/v1/operator/models/digits/intake/1",
        "/v1/models/digits/..%2F..%2Foperator/logits",
        "/v1/models/..%2foperator/logits",
        "/v1/models/digits/logits/",
        "/v1/models/digits/logits/more",
        "/v1/models//logits",
        "/v1/models/digits/debug",
        "/v1/",
        "/v2/models",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_nothing_else_passes(live: Range, method: str, path: str) -> None:
    key = live.key()
    for bearer in (key, OPERATOR):
        answer = live.client.request(method, live.url + path, headers=_bearer(bearer), content=BODY)
        problem(answer, 404, "not-found")
    assert live.provider.seen == []


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/models/digits/logits", "POST"),
        ("POST", "/v1/models", "GET"),
        ("PUT", "/v1/models/digits", "GET"),
    ],
)
def test_wrong_methods_are_told_the_right_one(live: Range, method: str, path: str, allowed: str) -> None:
    answer = live.client.request(method, live.url + path, headers=_bearer(live.key()))
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["Allow"] == allowed


async def test_the_house_client_works_through_the_proxy(live: Range) -> None:
    transport = AiohttpTransport()
    try:
        client = NativeClient(transport, live.url, live.key(100))
        assert [card.name for card in await client.models()] == ["digits"]
        assert (await client.card("digits")).features == 16
        images = pictures(3)
        released = await client.query("digits", "logits", images, idempotency_key="k")
        assert (released == clean("logits", images)).all()
        assert await client.upload("digits", "logits", released) == released.argmax(axis=1).tolist()
        assert await client.artifact("digits") == b"safetensors" * 100_000
    finally:
        await transport.close()


def test_a_key_made_now_works_now_though_others_hammer(live: Range) -> None:
    """New routes, keys and policies while requests run: never a wrong refusal, never an undefended answer."""
    live.policy({"clip": {"min": 0, "max": 0}})
    key, stop, wrong = live.key(), threading.Event(), []

    def hammer() -> None:
        with httpx.Client() as client:
            while not stop.is_set():
                answer = client.post(
                    f"{live.url}/v1/models/digits/softmax", content=BODY, headers=_bearer(key)
                )
                if answer.status_code != 200 or set(answer.json()["values"][0]) not in ({0.0}, {1.0}):
                    wrong.append(answer.text)

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    for mark in range(20):
        live.policy({"clip": {"min": mark % 2, "max": mark % 2}})
        live.admin("PUT", f"/routes/m{mark}", {"upstream": live.provider_url})
        fresh = live.key(id=f"k{mark}")
        assert (live.query(fresh, pictures(1)) == mark % 2).all()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_bound_policy_that_is_gone_lets_nothing_pass(live: Range) -> None:
    """Redis may lose what the admin API would not delete."""
    live.policy("argmax")
    key = live.key(10)
    with redis.Redis.from_url(live.redis_url) as store:
        assert store.hdel(LedgerNames(False).policies, "policy") == 1
        store.set(LedgerNames(False).version, "another")
    told = problem(live.post(key, "logits", BODY), 403, "forbidden")
    assert "'policy' of this request is gone" in told["detail"]
    upload = {"release": "logits", "values": [[1.0, 2.0]]}
    problem(live.post(key, "outputs", upload), 403, "forbidden")
    answer = live.client.get(f"{live.url}/v1/models/digits/artifact", headers=_bearer(key))
    problem(answer, 403, "forbidden")
    assert live.provider.seen == []


async def test_what_was_read_of_a_key_before_a_change_is_not_kept_after_it(live: Range) -> None:
    mark, changes = fingerprint(live.key(10)), [{"endpoints": ["softmax"]}]

    class Overtaken(Pipe):
        async def call(self, *words: Any, **options: Any) -> Any:
            """While the answer is on its way, the key is changed, and the proxy reads the new version."""
            answer = await super().call(*words, **options)
            if words[0] == "HMGET" and changes:
                live.admin("PATCH", "/keys/key", changes.pop())
                await configuration.refresh()
            return answer

    async with Redis.from_url(live.redis_url) as store:
        pipe = Overtaken(live.redis_url, 5)
        configuration = Configuration(store, pipe)
        assert (await configuration.key(mark)).endpoints is None
        assert (await configuration.key(mark)).endpoints == {"softmax"}
        await pipe.close()


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/x-npy"}
