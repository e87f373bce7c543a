"""Bodies that nobody should send: each gets its problem, costs nothing, and the proxy goes on."""

from __future__ import annotations

import io
import resource
import socket
import struct
import sys
import zlib
from http.client import HTTPResponse
from typing import Any

import numpy as np
import pytest

from leakrange.services.proxy.__main__ import main
from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests.proxy.conftest import Range, pictures, problem, settings


def npy(array: Any, **how: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **how)
    return stream.getvalue()


def png_bomb() -> bytes:
    """A few hundred bytes that declare 50,000 × 50,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )


HOSTILE = {
    "npy of objects": (NPY, npy(np.array([{}, 1], dtype=object), allow_pickle=True), 422, "invalid-input"),
    "truncated npy": (NPY, encode_npy(pictures(2))[:-7], 400, "malformed-body"),
    "npy that announces a terabyte": (
        NPY,
        encode_npy(pictures(1)).replace(b"(1, 8, 8, 3)", b"(1099511627776, 8, 8, 3)"),
        400,
        "malformed-body",
    ),
    "pickle": (NPY, b"\x80\x04\x95\x10cos\nsystem\n(S'true'\ntR.", 400, "malformed-body"),
    "no samples": (NPY, npy(np.zeros((0, 8, 8, 3), dtype=np.uint8)), 422, "invalid-input"),
    "deep JSON": (JSON, b'{"inputs": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "malformed-body"),
    "NaN in JSON": (JSON, b'{"inputs": [[[[NaN]]]]}', 400, "malformed-body"),
    "half a JSON": (JSON, b'{"inputs": [[', 400, "malformed-body"),
    "another JSON": (JSON, b'{"images": [], "inputs": [1]}', 422, "invalid-input"),
    "wrong content type": ("text/html", b"1,2,3", 415, "unsupported-media-type"),
    "no boundary": ("multipart/form-data", b"--x\r\n", 400, "malformed-body"),
    "broken multipart": ("multipart/form-data; boundary=x", b"--x\r\nnonsense", 400, "malformed-body"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_queries_cost_nothing(live: Range, name: str) -> None:
    media, body, status, slug = HOSTILE[name]
    problem(live.post(live.key(100), "logits", body, Content_Type=media), status, slug)
    assert live.provider.data_requests() == []
    assert live.account()["spent"] == live.account()["reserved"] == 0


@pytest.mark.parametrize(
    ("media", "body", "status", "slug"),
    [
        ("image/png", png_bomb(), 413, "body-too-large"),
        ("image/png", b"\x89PNG\r\n\x1a\n broken", 400, "malformed-body"),
        (NPY, npy(np.full((1, 8, 8, 3), np.nan)), 422, "invalid-input"),
        (NPY, npy(np.zeros((1, 9, 8, 3), dtype=np.uint8)), 422, "invalid-input"),
        (JSON, b'{"inputs": [[[[1, 2, 3], [1, 2]]]]}', 422, "invalid-input"),
    ],
    ids=["png bomb", "broken png", "NaN pixels", "wrong shape", "ragged"],
)
def test_a_sticky_policy_that_must_look_at_the_picture_refuses_it_at_no_cost(
    live: Range, media: str, body: bytes, status: int, slug: str
) -> None:
    live.policy({"noise": {"scale": 1, "sticky": True}})
    problem(live.post(live.key(100), "logits", body, Content_Type=media), status, slug)
    assert live.provider.data_requests() == []
    assert live.account()["spent"] == live.account()["reserved"] == 0


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"X_Release": "logits"}, npy(np.array([[1.0, np.nan]])), 422),
        ({"X_Release": "logits"}, npy(np.array([[1.0, 1e300]])), 422),
        ({"X_Release": "logits"}, npy(np.zeros(5)), 422),
        ({"X_Release": "thoughts"}, npy(np.zeros((1, 2))), 422),
        ({}, npy(np.zeros((1, 2))), 422),
        ({"Content_Type": JSON}, b'{"release": "logits", "values": [[1, 2], [3]]}', 422),
        ({"Content_Type": JSON}, b'{"release": ["logits"], "values": [[1, 2]]}', 422),
        ({"Content_Type": JSON}, b'{"release": "logits", "values": [[1, 2]], "pixels": [1]}', 422),
        ({"Content_Type": JSON}, b'{"release": "logits", "values": [["1", "2"]]}', 422),
        ({"Content_Type": "image/png"}, b"a picture that must not leave the device", 415),
        ({"X_Release": "logits", "Content_Encoding": "gzip"}, b"\x1f\x8b", 415),
    ],
)
def test_hostile_uploads_cost_nothing_and_do_not_pass(
    live: Range, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = live.post(live.key(100), "outputs", body, **headers)
    assert answer.status_code == status, answer.text
    assert live.provider.data_requests() == []
    assert live.account()["spent"] == live.account()["reserved"] == 0


def _connect(live: Range) -> socket.socket:
    host, _, port = live.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def _head(key: str, framing: str) -> bytes:
    return (
        f"POST /v1/models/digits/logits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: {NPY}\r\n{framing}\r\n\r\n"
    ).encode()


def _answer(client: socket.socket) -> tuple[HTTPResponse, bytes]:
    answer = HTTPResponse(client)
    answer.begin()
    return answer, answer.read()


def _peak_memory() -> int:
    """Bytes that this process, in which the proxy runs, has held at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def test_a_gigabyte_is_refused_as_soon_as_it_is_declared(live: Range) -> None:
    with _connect(live) as client:
        client.sendall(_head(live.key(), f"Content-Length: {2**30}"))
        answer, body = _answer(client)
    assert answer.status == 413
    assert b"/problems/body-too-large" in body
    assert answer.headers["Connection"] == "close"


def test_a_streamed_gigabyte_is_refused_without_being_held(live: Range) -> None:
    chunk = b"%x\r\n" % 2**20 + b"x" * 2**20 + b"\r\n"
    before = _peak_memory()
    with _connect(live) as client:
        client.sendall(_head(live.key(), "Transfer-Encoding: chunked"))
        try:
            for _ in range(1024):
                client.sendall(chunk)
        except OSError:
            pass  # the proxy has heard enough, and closed the connection
        else:
            assert _answer(client)[0].status == 413
    assert _peak_memory() - before < 100 * 2**20
    assert live.account()["spent"] == 0


def test_a_body_over_the_limit_is_answered_in_full(live: Range) -> None:
    problem(live.post(live.key(), "logits", b"x" * 2_500_000), 413, "body-too-large")
    assert live.post(live.key(id="next"), "logits", encode_npy(pictures(1))).status_code == 200


def test_a_body_that_never_ends_is_given_up(live: Range, another: Any) -> None:
    brief = another(upstream_timeout=0.3)
    with _connect(brief) as client:
        client.sendall(_head(live.key(), "Content-Length: 1000") + b"only this")
        answer, body = _answer(client)
    assert answer.status == 400
    assert b"did not come to its end" in body


def test_too_many_samples_are_refused(live: Range, another: Any) -> None:
    problem(another(max_samples=3).post(live.key(), "logits", encode_npy(pictures(4))), 413, "body-too-large")


def test_an_answer_that_is_too_large_is_refused(live: Range, another: Any) -> None:
    problem(
        another(max_answer=100).post(live.key(10), "logits", encode_npy(pictures(9))), 502, "upstream-failed"
    )
    assert live.account()["spent"] == 0


@pytest.mark.parametrize(
    ("key", "told"),
    [(None, "operator_key"), ("changeme-changeme", "random secret"), ("short", "random secret")],
)
def test_settings_that_cannot_be_taken_are_told_without_the_secret(
    monkeypatch: pytest.MonkeyPatch, key: str | None, told: str
) -> None:
    monkeypatch.delenv("LEAKRANGE_OPERATOR_KEY", raising=False)
    if key:
        monkeypatch.setenv("LEAKRANGE_OPERATOR_KEY", key)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert told in str(stopped.value.code)
    assert key is None or key not in str(stopped.value.code)


def test_reservations_must_outlive_requests() -> None:
    with pytest.raises(ValueError, match="reservation_seconds must exceed upstream_timeout"):
        settings("redis://x", upstream_timeout=10, reservation_seconds=5)
