"""The proxy before models that somebody else serves, in a format of their own."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from leakrange.wire.tensors import JSON, encode_npy
from tests.proxy.conftest import Range, pictures, problem, values
from tests.proxy.servers import CLASSES, SHAPE, clean, serve

CARD = {
    "input": {"encoding": "picture", "shape": list(SHAPE)},
    "classes": [str(number) for number in range(CLASSES)],
    "release": "softmax",
}

Fault = tuple[int, dict[str, str]] | str | None


class Foreign:
    """A server that answers ``{"images": [...]}`` by ``{"rows": [{"p": [...]}, ...]}``, for the same net as
    the stub provider. ``faults`` may give a status and headers instead, or "cut" the connection. The answer
    repeats the header that ``echoes`` names, and comes in so many ``pieces``."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.faults: Iterator[Fault] = itertools.repeat(None)
        self.answered = 0
        self.echoes: str | None = None
        self.pieces = 1
        self.at_once = self.most_at_once = 0

    def fault(self, body: bytes) -> Fault:  # noqa: ARG002 - for `Moody`
        return next(self.faults)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(body)
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.002)
        self.at_once -= 1
        fault = self.fault(body)
        if fault == "cut":
            # The server closes the connection: less came than was promised.
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"99")]}
            )
            await send({"type": "http.response.body", "body": b"{", "more_body": True})
            return
        status, headers = fault if isinstance(fault, tuple) else (200, {})
        images = np.array(orjson.loads(body)["images"], np.uint8)
        rows = [{"p": row.tolist()} for row in clean("softmax", images)]
        echo = {} if self.echoes is None else {"echo": self.headers[-1][self.echoes]}
        if status == 200:
            content = orjson.dumps({"rows": rows, **echo})
        else:
            content = orjson.dumps({"message": "ThrottlingException", **echo})
        self.answered += len(images) if status == 200 else 0
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        for start in range(0, len(content), size := math.ceil(len(content) / self.pieces)):
            await asyncio.sleep(0 if start == 0 else 0.02)
            more = start + size < len(content)
            await send(
                {"type": "http.response.body", "body": content[start : start + size], "more_body": more}
            )


class Moody(Foreign):
    """Each request meets none to four of the faults, begun at another of them, before it is answered: so none
    fails more often than the proxy is patient, whatever runs at the same time."""

    FAULTS: tuple[Fault, ...] = ((429, {"retry-after": "0"}), "cut", (400, {}), (503, {}), (500, {}))

    def fault(self, body: bytes) -> Fault:
        place, attempt = list(dict.fromkeys(self.bodies)).index(body), self.bodies.count(body) - 1
        return self.FAULTS[(place + attempt) % 5] if attempt < place // 5 % 5 else None


@pytest.fixture
def foreign() -> Iterator[tuple[Foreign, str]]:
    server = Foreign()
    with serve(server) as url:
        yield server, url


def target(address: str, **changes: Any) -> dict[str, Any]:
    step = {
        "post": f"{address}/score",
        "json": {"images": "${samples}"},
        "read": {"each": "$.rows[*]", "values": "$.p"},
    }
    return {"name": "risk", "owner": "team@example.com", "card": CARD, "steps": [step]} | changes


def routed(live: Range, url: str, probe: bool = False, **changes: Any) -> dict[str, Any]:
    body = {"target": target(url, **changes), "probe": probe}
    route: dict[str, Any] = live.admin("PUT", "/routes/risk", body)
    return route


def ask(live: Range, key: str, images: NDArray[np.uint8], **more: Any) -> httpx.Response:
    return live.post(key, "softmax", encode_npy(images), model="risk", **more)


def test_a_target_answers_as_a_provider_does(live: Range, foreign: tuple[Foreign, str]) -> None:
    """Under a policy and a budget, in npy and JSON, in batches as its limits say."""
    server, url = foreign
    route = routed(live, url, probe=True, limits={"batch": 3})
    assert route["tried"] == pytest.approx(clean("softmax", np.zeros((1, *SHAPE), np.uint8))[0])
    key, images = live.key(20), pictures(7)
    assert values(ask(live, key, images)).tolist() == clean("softmax", images).tolist()
    assert [len(orjson.loads(body)["images"]) for body in server.bodies[1:]] in (
        [3, 3, 1],
        [3, 1, 3],
        [1, 3, 3],
    )
    live.policy({"round": {"decimals": 1}})
    answer = ask(live, key, images, accept=JSON).json()
    assert answer["release"] == "softmax"
    assert answer["values"] == pytest.approx(np.round(clean("softmax", images), 1))
    assert live.account()["spent"] == 14
    card = live.client.get(f"{live.url}/v1/models/risk", headers={"Authorization": f"Bearer {key}"}).json()
    assert (card["classes"], card["releases"], card["sha256"]) == (CARD["classes"], ["softmax"], "")
    problem(ask(live, key, images), 429, "budget-exhausted")
    assert live.admin("GET", "/routes/risk")["asked"] == {"sent": 15, "answered": 15, "requests": 7}


def test_an_answer_in_pieces_is_read_to_its_end_and_no_further_than_allowed(
    another: Callable[..., Range], live: Range, foreign: tuple[Foreign, str]
) -> None:
    server, url = foreign
    server.pieces = 3
    routed(live, url)
    key, images = live.key(20), pictures(2)
    assert values(ask(live, key, images)).tolist() == clean("softmax", images).tolist()
    answer = another(max_answer=100).admin("PUT", "/routes/risk", {"target": target(url)}, status=422)
    assert "answers with more than 100 bytes" in answer["detail"]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "logits"), ("POST", "outputs"), ("GET", "artifact"), ("GET", "gallery")]
)
def test_a_target_has_its_one_endpoint(
    live: Range, foreign: tuple[Foreign, str], method: str, path: str
) -> None:
    routed(live, foreign[1])
    key = live.key(20, endpoints=None)
    if path == "outputs":
        answer = live.post(
            key, path, encode_npy(np.zeros((1, CLASSES), np.float32)), model="risk", X_Release="softmax"
        )
    elif path == "logits":
        answer = live.post(key, path, encode_npy(pictures(1)), model="risk")
    else:
        answer = live.client.request(
            method, f"{live.url}/v1/models/risk/{path}", headers={"Authorization": f"Bearer {key}"}
        )
    assert "answers at 'softmax' alone" in problem(answer, 404, "not-found")["detail"]
    assert live.account()["spent"] == 0
    assert foreign[0].bodies == []


def test_faults_of_a_target_lose_no_sample(live: Range) -> None:
    server = Moody()
    with serve(server) as url:
        throttled = ["429", "503", "400 ThrottlingException"]
        routed(live, url, limits={"batch": 4, "concurrency": 5, "throttled": throttled})
        key, images = live.key(1000), pictures(120)
        assert values(ask(live, key, images)).tolist() == clean("softmax", images).tolist()
    assert live.account()["spent"] == 120
    asked = live.admin("GET", "/routes/risk")["asked"]
    assert asked["answered"] == 120 == server.answered
    assert asked["sent"] == 4 * len(server.bodies) == 4 * (30 + 5 * (0 + 1 + 2 + 3 + 4))
    assert 1 < server.most_at_once <= 5


def test_a_refusal_is_not_taken_for_a_wish_for_patience(live: Range, foreign: tuple[Foreign, str]) -> None:
    server, url = foreign
    server.faults = itertools.repeat((400, {}))
    routed(live, url, limits={"throttled": ["429", "400 SlowDown"]})
    problem(ask(live, live.key(10), pictures(2)), 502, "upstream-failed")
    assert live.account()["spent"] == 0
    assert len(server.bodies) == 1


def test_caps_hold_whatever_was_answered(live: Range, foreign: tuple[Foreign, str]) -> None:
    server, url = foreign
    limits = {"batch": 4, "samples": 10}
    routed(live, url, limits=limits)
    key = live.key(100)
    assert ask(live, key, pictures(8)).status_code == 200
    answer = problem(ask(live, key, pictures(4, seed=1)), 429, "target-spent")
    assert "8 samples were sent to the target 'risk', and its cap is 10" in answer["detail"]
    assert live.account()["spent"] == 8
    assert server.answered == 8
    # the counts are of what is asked, not of the file: other limits begin at the same count
    routed(live, url, limits={"price": "0.5 EUR", "money": 5.5})
    assert ask(live, key, pictures(3, seed=2)).status_code == 200
    assert "its cap is 11" in problem(ask(live, key, pictures(1, seed=3)), 429, "target-spent")["detail"]


def test_an_authorisation_ends(live: Range, foreign: tuple[Foreign, str]) -> None:
    day = datetime.date.today()
    key = live.key(100)
    routed(live, foreign[1], authorised=f"ticket 4711, until {day}")
    assert ask(live, key, pictures(1)).status_code == 200
    routed(live, foreign[1], authorised=f"ticket 4711, until {day - datetime.timedelta(1)}")
    assert (
        "the authorisation of the target 'risk' ended"
        in problem(ask(live, key, pictures(1)), 403, "forbidden")["detail"]
    )


def test_a_request_that_takes_long_goes_on_where_it_stopped(
    another: Callable[..., Range], live: Range, foreign: tuple[Foreign, str]
) -> None:
    """Ten requests at four a second take longer than a request may: the same request again asks the rest."""
    server, url = foreign
    hasty = another(upstream_timeout=2.0)
    routed(hasty, url, limits={"batch": 2, "rate": "4/s"})
    key, images = live.key(100), pictures(20)
    answer = problem(ask(hasty, key, images, Idempotency_Key="k"), 409, "in-flight")
    assert "of 10 requests to the target are answered" in answer["detail"]
    assert 0 < server.answered < 20
    assert live.account()["spent"] == 0
    while (again := ask(hasty, key, images, Idempotency_Key="k")).status_code == 409:
        pass
    assert values(again).tolist() == clean("softmax", images).tolist()
    assert live.account()["spent"] == 20
    sent = [tuple(orjson.loads(body)["images"][0][0][0]) for body in server.bodies]
    assert len(set(sent)) == 10
    assert len(sent) <= 12  # what was on its way when the first request ended may have been asked twice
    assert ask(hasty, key, images, Idempotency_Key="k").headers["Idempotency-Replayed"] == "true"


def test_a_rate_holds_for_all_proxies_together(
    another: Callable[..., Range], live: Range, foreign: tuple[Foreign, str]
) -> None:
    server, url = foreign
    routed(live, url, limits={"batch": 1, "rate": "20/s", "concurrency": 16})
    other, key = another(), live.key(100)
    times: list[float] = []

    async def both() -> None:
        async with httpx.AsyncClient(timeout=30) as client:
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-npy"}
            loop = asyncio.get_running_loop()
            begun = loop.time()
            answers = await asyncio.gather(
                *(
                    client.post(
                        f"{each.url}/v1/models/risk/softmax",
                        content=encode_npy(pictures(8, seed)),
                        headers=headers,
                    )
                    for seed, each in enumerate((live, other))
                )
            )
            times.append(loop.time() - begun)
            assert [answer.status_code for answer in answers] == [200, 200]

    asyncio.run(both())
    assert len(server.bodies) == 16
    assert times[0] >= 15 / 20 * 0.95


def test_a_redirect_is_not_followed_and_a_key_goes_nowhere_else(
    live: Range, foreign: tuple[Foreign, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, url = foreign
    monkeypatch.setenv("RISK_KEY", "s3cret")
    thief = Foreign()
    with serve(thief) as elsewhere:
        server.faults = iter([(307, {"location": f"{elsewhere}/score"}), None])
        answer = live.admin(
            "PUT",
            "/routes/risk",
            {"target": target(url, headers={"Authorization": "Bearer ${RISK_KEY}"})},
            status=422,
        )
        assert "which is not followed" in answer["detail"]
        assert thief.bodies == []
    assert routed(live, url, probe=True, headers={"Authorization": "Bearer ${RISK_KEY}"})["tried"]
    assert server.headers[-1]["authorization"] == "Bearer s3cret"
    assert "s3cret" not in str(live.admin("GET", "/routes"))
    server.faults, server.echoes = iter([(403, {})]), "authorization"
    problem(ask(live, live.key(5), pictures(1)), 502, "upstream-failed")
    failure = live.admin("GET", "/routes/risk")["health"]["failure"]
    assert "Bearer ${RISK_KEY}" in failure  # what a target repeats is shown to operators, without secrets
    assert "s3cret" not in failure


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"card": CARD | {"classes": ["a", "b"]}}, 422, "have shape (1, 5), and not (1, 2)"),
        (
            {"headers": {"Authorization": "Bearer ${NOT_SET_HERE}"}},
            422,
            "NOT_SET_HERE is not set where the proxy runs",
        ),
        (
            {"headers": {"Authorization": "Bearer ${LEAKRANGE_OPERATOR_KEY}"}},
            422,
            "LEAKRANGE_OPERATOR_KEY is sent to nobody",
        ),
        ({"owner": ""}, 422, "owner"),
        ({"steps": []}, 422, "'steps' or a 'preset'"),
        ({"url": "http://127.0.0.1:9", "steps": [], "preset": "mlflow-inputs"}, 502, "cannot be reached"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(
    live: Range, foreign: tuple[Foreign, str], changes: dict[str, Any], status: int, words: str
) -> None:
    answer = live.admin("PUT", "/routes/risk", {"target": target(foreign[1], **changes)}, status=status)
    assert words in answer["detail"]
    live.admin("GET", "/routes/risk", status=404)
    live.admin("PUT", "/routes/risk", {"upstream": "http://127.0.0.1:1", "target": {}}, status=422)


class Tokens:
    """Gives tokens for client credentials, each valid for ``seconds``."""

    def __init__(self, seconds: int) -> None:
        self.seconds, self.given = seconds, 0
        self.asked: list[tuple[str, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = (await receive()).get("body", b"")
        self.asked.append((dict(scope["headers"])[b"authorization"].decode(), body))
        self.given += 1
        content = orjson.dumps({"access_token": f"token-{self.given}", "expires_in": self.seconds})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": content[:9], "more_body": True})
        await asyncio.sleep(0.02)  # so that the rest is another piece
        await send({"type": "http.response.body", "body": content[9:]})


@pytest.mark.parametrize(("seconds", "tokens"), [(3600, 1), (1, 3)])
def test_a_token_is_fetched_once_and_again_before_it_ends(
    live: Range, foreign: tuple[Foreign, str], monkeypatch: pytest.MonkeyPatch, seconds: int, tokens: int
) -> None:
    server, url = foreign
    monkeypatch.setenv("RISK_ID", "me")
    monkeypatch.setenv("RISK_SECRET", "s3cret")
    gives = Tokens(seconds)
    with serve(gives) as token_url:
        oauth2 = {
            "token_url": token_url,
            "client_id": "${RISK_ID}",
            "client_secret": "${RISK_SECRET}",
            "scope": "score",
        }
        routed(live, url, authentication={"oauth2": oauth2}, limits={"concurrency": 1, "batch": 2})
        key = live.key(100)
        assert ask(live, key, pictures(6)).status_code == 200
        assert gives.given == tokens
        assert [each["authorization"] for each in server.headers][-1] == f"Bearer token-{tokens}"
        assert gives.asked[0] == ("Basic bWU6czNjcmV0", b"grant_type=client_credentials&scope=score")
        # a token that was withdrawn is replaced once
        server.faults = iter([(401, {}), None, (401, {}), (401, {})])
        assert ask(live, key, pictures(2, seed=1)).status_code == 200
        assert gives.given == tokens + (2 if seconds == 1 else 1)
        problem(ask(live, key, pictures(2, seed=2)), 502, "upstream-failed")


def test_requests_to_aws_are_signed_with_the_usual_variables(
    live: Range, foreign: tuple[Foreign, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sigv4 = {"sigv4": {"service": "sagemaker", "region": "eu-west-1"}}
    body = {"target": target(foreign[1], authentication=sigv4)}
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    assert "pip install botocore" in live.admin("PUT", "/routes/risk", body, status=422)["hint"]


def test_a_certificate_that_cannot_be_read_is_said(live: Range, foreign: tuple[Foreign, str]) -> None:
    tls = {"tls": {"certificate": "/nowhere.pem", "key": "/nowhere.key"}}
    body = {"target": target(foreign[1], authentication=tls)}
    assert "cannot be read" in live.admin("PUT", "/routes/risk", body, status=422)["detail"]
