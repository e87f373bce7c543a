"""CloudEvents over HTTP: both modes give the same event, and what is none is refused."""

from __future__ import annotations

import contextlib
from base64 import b64encode
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.wire.cloudevents import CloudEvent, read_event
from leakrange.wire.errors import InvalidInput, LeakrangeError, MalformedBody, UnsupportedMedia

KIND = "org.kubeflow.serving.inference.request"
DATA = b'{"instances":[[1.5,2]]}'
BINARY = {"content-type": "application/json", "ce-specversion": "1.0", "ce-id": "a%20b", "ce-type": KIND}
STRUCTURED = {"content-type": "application/cloudevents+json; charset=utf-8"}


def envelope(**changes: Any) -> bytes:
    event = {"specversion": "1.0", "id": "a b", "type": KIND, "data": orjson.loads(DATA), **changes}
    return orjson.dumps({name: value for name, value in event.items() if value is not None})


def test_both_modes_give_the_same_event() -> None:
    expected = CloudEvent("a b", KIND, DATA)
    assert read_event(BINARY, DATA) == expected
    assert read_event(STRUCTURED, envelope()) == expected
    encoded = envelope(data=None, data_base64=b64encode(DATA).decode())
    assert read_event(STRUCTURED, encoded) == expected


@pytest.mark.parametrize(
    ("headers", "body", "error", "sentence"),
    [
        ({**BINARY, "content-type": "application/octet-stream"}, DATA, UnsupportedMedia, "is no JSON"),
        ({**BINARY, "content-type": ""}, DATA, UnsupportedMedia, "'none' is no JSON"),
        ({"content-type": "application/cloudevents-batch+json"}, b"[]", UnsupportedMedia, "is no JSON"),
        (BINARY, b"{", MalformedBody, "are no JSON"),
        (BINARY, b"[NaN]", MalformedBody, "are no JSON"),
        ({**BINARY, "ce-specversion": "0.3"}, DATA, InvalidInput, "of CloudEvents '0.3'"),
        ({**BINARY, "ce-id": ""}, DATA, InvalidInput, "'id' should be a text"),
        ({**BINARY, "ce-id": "%1b[2J"}, DATA, InvalidInput, "'id' should be a text"),
        ({**BINARY, "ce-type": "t" * 201}, DATA, InvalidInput, "'type' should be a text"),
        (STRUCTURED, b"[]", InvalidInput, "is a JSON object"),
        (STRUCTURED, envelope(id=7), InvalidInput, "'id' should be a text"),
        (STRUCTURED, envelope(data=None), InvalidInput, "either 'data' or 'data_base64'"),
        (STRUCTURED, envelope(data_base64="e30="), InvalidInput, "either 'data' or 'data_base64'"),
        (STRUCTURED, envelope(data=None, data_base64="?"), MalformedBody, "is no base64"),
        (STRUCTURED, envelope(data=None, data_base64="ew=="), MalformedBody, "are no JSON"),
    ],
)
def test_what_is_no_event_is_refused(
    headers: dict[str, str], body: bytes, error: type[LeakrangeError], sentence: str
) -> None:
    with pytest.raises(error) as refused:
        read_event(headers, body)
    assert sentence in refused.value.detail


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(
    headers=st.fixed_dictionaries(
        {"content-type": st.sampled_from(["application/json", "application/cloudevents+json", "text/plain"])},
        optional={f"ce-{name}": st.text(max_size=8) for name in ("id", "type", "specversion")},
    ),
    body=st.binary(max_size=40) | JSON.map(orjson.dumps) | st.builds(envelope, data=JSON, id=JSON),
)
def test_any_request_is_an_event_or_refused(headers: dict[str, str], body: bytes) -> None:
    with contextlib.suppress(InvalidInput, MalformedBody, UnsupportedMedia):
        event = read_event(headers, body)
        assert event.id.isprintable()
        orjson.loads(event.data)
