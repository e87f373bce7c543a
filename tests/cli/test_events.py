"""Reading a stream of server-sent events."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from clients.cli.events import Event, parse

events = st.lists(
    st.builds(
        Event,
        st.integers(1, 2**31),
        st.from_regex(r"[a-z]+\.[a-z]+", fullmatch=True),
        st.dictionaries(st.text(), st.text() | st.integers(-(2**53), 2**53) | st.none()),
    )
)


def lines(event: Event) -> list[str]:
    return [f"id: {event.seq}", f"event: {event.kind}", f"data: {orjson.dumps(event.data).decode()}", ""]


@given(events, st.integers(0, 3))
def test_whole_events_come_out_as_they_went_in_and_half_ones_not_at_all(
    sent: list[Event], missing: int
) -> None:
    stream: list[str] = []
    for event in sent:
        stream += [": still here", "", *lines(event)]
    cut = stream[: len(stream) - missing] if missing else stream
    whole = sent if missing == 0 or not sent else sent[:-1]
    assert list(parse(cut)) == whole
