"""A provider in league with a client: it puts what the policy hides into all else that it may choose."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from numpy.testing import assert_array_equal

from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests.proxy.conftest import Range, pictures, problem, values
from tests.proxy.servers import CLASSES, card, clean

SECRET = "clean-7.125"
TALKATIVE = {
    "ETag": f'"{SECRET}"',
    "Last-Modified": SECRET,
    "Content-Disposition": f"attachment; filename={SECRET}",
    "Allow": SECRET,
    "Retry-After": "7125",
    "WWW-Authenticate": SECRET,
    "RateLimit-Remaining": "7125",
    "Location": f"/{SECRET}",
    "Link": f"<{SECRET}>",
    "Set-Cookie": SECRET,
    "X-Gallery-Mark": SECRET,
    "X-Debug": SECRET,
}
OWN = {"content-type", "content-length", "date", "server", "ratelimit-limit", "ratelimit-remaining"}


@dataclass
class Told:
    """An answer of the provider; its reason phrase and its headers always hold the secret, too."""

    body: bytes = orjson.dumps({"title": SECRET, "detail": SECRET, "hint": SECRET, "type": f"/{SECRET}"})
    status: int = 200
    media: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Colluder:
    """A provider; ``tell`` gives its next answer, ``card`` that of the card."""

    tell: Told = field(default_factory=Told)
    card: Callable[[], dict[str, Any]] = lambda: card("digits")
    url: str = ""

    def values(self, release: Any, accept: str = JSON, **more: Any) -> None:
        if accept == NPY:
            self.tell = Told(encode_npy(release), media=NPY)
        else:
            told = {"model": SECRET, "version": SECRET, "release": SECRET, "debug": SECRET, "values": release}
            self.tell = Told(orjson.dumps(told | more, option=orjson.OPT_SERIALIZE_NUMPY))


@pytest.fixture
def colluder(live: Range) -> Iterator[Colluder]:
    """It serves ``digits`` behind the proxy, over HTTP."""
    made = Colluder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            told = made.tell
            if self.command == "GET" and self.path == "/v1/models/digits":
                told = Told(orjson.dumps(made.card()))
            self.send_response(told.status, SECRET)
            for name, value in TALKATIVE.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{told.media}; charset={SECRET}")
            body = b"" if told.status in (204, 304) else told.body
            self.send_header("Content-Length", str(len(body)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the proxy need not read what is no answer
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        made.url = f"http://127.0.0.1:{server.server_port}"
        live.admin("PUT", "/routes/digits", {"upstream": made.url})
        yield made
        server.shutdown()
        thread.join()


def get(live: Range, key: str, path: str, method: str = "GET", body: bytes | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY}
    return live.client.request(method, f"{live.url}/v1/models{path}", headers=headers, content=body)


def whole(answer: httpx.Response) -> str:
    """All that a client gets: status, reason, headers, body."""
    return f"{answer.status_code} {answer.reason_phrase} {answer.headers.multi_items()} {answer.text}"


REFUSALS = [301, 302, 304, 307, *range(400, 432), 451, 499, 500, 501, 502, 503, 504, 507, 511, 599]


@pytest.mark.parametrize("defended", [True, False])
def test_whatever_a_provider_refuses_with_there_are_four_outcomes(
    live: Range, colluder: Colluder, defended: bool
) -> None:
    key = live.key(100)
    if defended:
        live.policy("argmax")
    outcomes = set()
    for status in REFUSALS:
        colluder.tell = Told(status=status)
        answer = live.post(key, "logits", encode_npy(pictures(1)))
        assert SECRET not in whole(answer), status
        assert "7125" not in whole(answer), status
        assert set(answer.headers) <= OWN | {"retry-after"}
        outcomes.add((answer.status_code, answer.headers.get("retry-after"), answer.text))
    assert sorted(status for status, *_ in outcomes) == [404, 422, 502, 503]
    account = live.account()
    assert (account["spent"], account["reserved"], account["refunded"]) == (0, 0, len(REFUSALS))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/digits/gallery"),
        ("PUT", "/digits/gallery/ann"),
        ("DELETE", "/digits/gallery/ann"),
        ("GET", "/digits/artifact"),
        ("POST", "/digits/outputs"),
        ("POST", "/digits/verification?person=ann"),
    ],
)
def test_no_other_endpoint_passes_a_refusal_on(
    live: Range, colluder: Colluder, method: str, path: str
) -> None:
    key = live.key(endpoints=["gallery", "artifact", "outputs", "verification"])
    live.policy({"round": 1})
    body = {"PUT": encode_npy(pictures(1)), "POST": encode_npy(pictures(1))}.get(method)
    if path.endswith("outputs"):
        body = b'{"release": "logits", "values": [[1, 2, 3, 4, 5]]}'
    for status, expected in ((409, 422), (404, 404), (500, 502), (429, 503)):
        colluder.tell = Told(status=status)
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": JSON if path.endswith("outputs") else NPY,
        }
        url = f"{live.url}/v1/models{path}"
        answer = live.client.request(method, url, headers=headers, content=body)
        assert SECRET not in whole(answer)
        # A classifier has no verification, which the proxy says itself.
        assert answer.status_code in {expected, 404 if status < 429 else expected}, answer.text
        assert set(answer.headers) <= OWN | {"retry-after"}


def test_nothing_of_an_answer_but_its_values_passes_a_policy(live: Range, colluder: Colluder) -> None:
    live.policy("argmax")
    key, images = live.key(100), pictures(3)
    for status in (200, 201, 206, 299):
        colluder.values(clean("logits", images), same=[True, False, True])
        colluder.tell.status = status
        answer = live.post(key, "logits", encode_npy(images), accept=JSON)
        assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)
        assert SECRET not in whole(answer)
        assert set(answer.headers) <= OWN
        told = answer.json()
        assert {name: told.pop(name) for name in ("model", "version", "release")} == {
            "model": "digits",
            "version": "1",
            "release": "logits",
        }
        assert set(told) == {"values"}
        assert_array_equal(values(answer), np.eye(CLASSES)[clean("logits", images).argmax(axis=1)])
    for accept in (JSON, NPY):  # the place of the 1 among so many would tell a number of three digits
        colluder.values(np.eye(1000, dtype=np.float32)[[712, 5, 0]], accept)
        problem(live.post(key, "logits", encode_npy(images), accept=accept), 502, "upstream-failed")
    colluder.values(clean("logits", images), NPY)
    problem(live.post(key, "logits", encode_npy(images), accept=JSON), 502, "upstream-failed")
    assert live.account()["spent"] == 12


def test_headers_of_an_answer_do_not_pass_without_a_policy_either(live: Range, colluder: Colluder) -> None:
    images = pictures(2)
    colluder.values(clean("logits", images), NPY)
    answer = live.post(live.key(10), "logits", encode_npy(images))
    assert_array_equal(values(answer), clean("logits", images))
    assert SECRET not in str(answer.headers)
    assert set(answer.headers) <= OWN


@pytest.mark.parametrize(
    "made",
    [[1, CLASSES], [1, -1], [0, 1.5], [0, True], [0], [0, 1, 2], [0, SECRET], {"0": 1}, SECRET],
    ids=str,
)
def test_decisions_are_classes_and_nothing_more(live: Range, colluder: Colluder, made: Any) -> None:
    key, body = live.key(10), {"release": "logits", "values": np.zeros((2, CLASSES)).tolist()}
    colluder.tell = Told(orjson.dumps({"version": SECRET, "debug": SECRET, "decisions": made}))
    answer = live.post(key, "outputs", body, accept=JSON)
    problem(answer, 502, "upstream-failed")
    assert SECRET not in whole(answer)
    colluder.tell = Told(orjson.dumps({"version": SECRET, "debug": SECRET, "decisions": [4, 0]}))
    answer = live.post(key, "outputs", body, accept=JSON)
    assert answer.json() == {"model": "digits", "version": "1", "decisions": [4, 0]}
    assert SECRET not in whole(answer)
    assert live.account()["spent"] == 2


@pytest.mark.parametrize(
    "made", [[1, 0], [[1, 2], [0, 3]], [[1, 2], [0]], [[1, 2], [0, 1, 0]], [[1, 2], [0, True]]], ids=str
)
def test_decisions_on_several_attributes_are_a_class_of_each(
    live: Range, colluder: Colluder, made: Any
) -> None:
    key, body = live.key(10), {"release": "logits", "values": np.zeros((2, CLASSES)).tolist()}
    colluder.card = lambda: card("digits") | {"heads": [2, CLASSES - 2]}
    colluder.tell = Told(orjson.dumps({"decisions": made}))
    problem(live.post(key, "outputs", body, accept=JSON), 502, "upstream-failed")
    colluder.tell = Told(orjson.dumps({"decisions": [[1, 2], [0, 0]]}))
    assert live.post(key, "outputs", body, accept=JSON).json()["decisions"] == [[1, 2], [0, 0]]


def test_a_model_that_was_replaced_by_one_of_more_attributes_decides_at_once(
    live: Range, colluder: Colluder
) -> None:
    key, body = live.key(10), {"release": "logits", "values": np.zeros((2, CLASSES)).tolist()}
    for heads, made in ((None, [0, 4]), ([2, 3], [[1, 2], [0, 0]]), ([3, 2], [[2, 1], [0, 0]])):
        colluder.card = lambda heads=heads: card("digits") | {"heads": heads}
        colluder.tell = Told(orjson.dumps({"decisions": made}))
        assert live.post(key, "outputs", body, accept=JSON).json()["decisions"] == made


def test_a_gallery_tells_checked_names_and_numbers(live: Range, colluder: Colluder) -> None:
    key, image = live.key(10, endpoints=["gallery"]), pictures(1)
    live.policy({"round": 1})
    colluder.tell = Told(orjson.dumps({"person": SECRET, "images": 7125}))
    enrolled = get(live, key, "/digits/gallery/ann", "PUT", encode_npy(np.concatenate([image, image])))
    assert enrolled.json() == {"person": "ann", "images": 1}  # both are the same
    for persons in ([{"person": f"{SECRET} !", "images": 1}], [{"person": "ann", "images": 1, "x": 1}], [1]):
        colluder.tell = Told(orjson.dumps({"persons": persons}))
        problem(get(live, key, "/digits/gallery"), 502, "upstream-failed")
    colluder.tell = Told(
        orjson.dumps({"model": SECRET, "version": SECRET, "persons": [{"person": "ann", "images": 2}]})
    )
    listed = get(live, key, "/digits/gallery")
    assert listed.json()["persons"] == [{"person": "ann", "images": 2}]
    colluder.tell = Told(status=299)
    gone = get(live, key, "/digits/gallery/ann", "DELETE")
    assert (gone.status_code, gone.content) == (204, b"")
    assert not any(SECRET in whole(answer) for answer in (enrolled, listed, gone))


def test_a_card_is_no_channel_that_can_be_written_at_will(live: Range, colluder: Colluder) -> None:
    """It changes with every look of the proxy, and the client sees one card all the while."""
    asked = iter(range(1000))
    colluder.card = lambda: (
        card("digits")
        | {
            "version": str(next(asked)),
            "sha256": f"{next(asked):064}",
            "parameters": next(asked),
            "threshold": next(asked) / 8,
        }
    )
    live.policy({"round": 1})
    key = live.key(100)
    seen = []
    for _ in range(4):
        colluder.values(np.zeros((1, 3)))  # too short: the proxy looks at the card again
        problem(live.post(key, "logits", encode_npy(pictures(1)), accept=JSON), 502, "upstream-failed")
        colluder.values(clean("logits", pictures(1)))
        version = live.post(key, "logits", encode_npy(pictures(1)), accept=JSON).json()["version"]
        cards = [get(live, key, "/digits").json(), get(live, key, "").json()["models"][0]]
        assert cards[0] == cards[1]
        assert (version, cards[0]["sha256"], cards[0]["parameters"]) == (cards[0]["version"], "", 0)
        seen.append(cards[0])
    assert all(each == seen[0] for each in seen)
    assert next(asked) >= 4 * 4  # the proxy looked after each answer that was too short


@pytest.mark.parametrize("wrong", [{"debug": SECRET}, {"name": SECRET}, {"version": 7}, {"features": SECRET}])
def test_a_card_with_more_in_it_is_no_card(live: Range, colluder: Colluder, wrong: dict[str, Any]) -> None:
    colluder.card = lambda: card("digits") | wrong
    key = live.key()
    answer = get(live, key, "/digits")
    problem(answer, 502, "upstream-failed")
    assert SECRET not in whole(answer)
    assert get(live, key, "").json() == {"models": []}


def test_an_artifact_has_no_headers_of_the_provider(live: Range, colluder: Colluder) -> None:
    colluder.tell = Told(b"safetensors", status=201)
    answer = get(live, live.key(), "/digits/artifact")
    assert (answer.status_code, answer.content) == (200, b"safetensors")
    assert SECRET not in whole(answer)
    assert set(answer.headers) <= OWN


def test_an_artifact_that_is_packed_is_not_unpacked(live: Range, colluder: Colluder) -> None:
    """A small one could fill the memory of the proxy."""
    colluder.tell = Told(gzip.compress(b"safetensors"), headers={"Content-Encoding": "gzip"})
    problem(get(live, live.key(), "/digits/artifact"), 502, "upstream-failed")


@pytest.mark.parametrize(
    ("endpoint", "body", "status", "told"),
    [
        (
            "logits",
            encode_npy(np.zeros((2, 9, 8, 3), np.uint8)),
            422,
            "(B, 8, 8, 3); these have (2, 9, 8, 3)",
        ),
        ("logits", encode_npy(np.zeros((257, 8, 8, 3), np.uint8)), 413, "257 samples in one request"),
        ("logits", {"inputs": [[[[0, 0, 300]] * 8] * 8]}, 422, "must lie in 0..255"),
        ("verification", encode_npy(np.zeros((1, 2, 8, 8, 3), np.uint8)), 404, "no endpoint 'verification'"),
        ("outputs", {"release": "logits", "values": [[1, 2, 3]]}, 422, "this upload has (1, 3)"),
        ("outputs", {"release": "score", "values": [[1, 2, 3, 4, 5]]}, 422, "logits or softmax"),
    ],
    ids=["shape", "batch", "range", "service", "classes", "kind"],
)
def test_what_is_wrong_with_a_refused_request_is_told_by_the_proxy(
    live: Range, colluder: Colluder, endpoint: str, body: Any, status: int, told: str
) -> None:
    colluder.tell = Told(status=400)
    answer = live.post(live.key(1000), endpoint, body, accept=JSON)
    assert answer.status_code == status
    assert told in answer.json()["detail"]
    assert SECRET not in whole(answer)
    account = live.account()
    assert account["refunded"] > account["spent"] == account["reserved"] == 0
