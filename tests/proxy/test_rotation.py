"""Keys are replaced while requests go on: none is refused, and repeatable noise stays as it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations

import httpx
import numpy as np
import pytest

from leakrange.wire.tensors import encode_npy
from tests.patience import until
from tests.proxy.conftest import OPERATOR, Range, pictures, problem
from tests.proxy.test_limit_commands import command

NEW = "fedcba9876543210-the-next-operator"
OLD_KEY, NEW_KEY = "lr_" + "o" * 40, "lr_" + "n" * 40


@contextmanager
def stream(ask: Callable[[], int]) -> Iterator[list[int]]:
    """Ask one request after another meanwhile; gives the list of their statuses."""
    statuses: list[int] = []
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            statuses.append(ask())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield statuses
    finally:
        over.set()
        thread.join()


def wait_for_more(statuses: list[int]) -> None:
    begun = len(statuses)
    until(lambda: len(statuses) > begun + 2)


def test_a_key_is_rotated_under_a_stream_of_requests(live: Range) -> None:
    keys = [live.key(10_000)]
    body = encode_npy(pictures(2))
    with stream(lambda: live.post(keys[-1], "logits", body).status_code) as statuses:
        for _ in range(3):
            wait_for_more(statuses)
            keys.append(live.admin("POST", "/keys/key/rotation", {"overlap": 600})["key"])
        wait_for_more(statuses)
    assert set(statuses) == {200}
    assert len(set(keys)) == 4
    for key in keys:
        assert live.post(key, "logits", body).status_code == 200
    account = live.account()
    assert (account["spent"], account["budget"]) == (2 * (len(statuses) + 4), 10_000)


def test_a_key_that_was_replaced_ends_with_its_overlap(live: Range, another: Callable[..., Range]) -> None:
    """At every proxy, one that has seen it in use included. A later rotation does not lengthen it."""
    first, body = live.key(100), encode_npy(pictures(1))
    second = another()
    assert [place.post(first, "logits", body).status_code for place in (live, second)] == [200, 200]
    rotated = live.admin("POST", "/keys/key/rotation", {"overlap": 1})["key"]
    newest = live.admin("POST", "/keys/key/rotation", {"overlap": 600})["key"]
    for place in (live, second):
        until(lambda place=place: place.post(first, "logits", body).status_code == 401)
        assert place.post(rotated, "logits", body).status_code == 200
    live.admin("POST", "/keys/key/rotation", {"overlap": 0})
    for place in (live, second):
        for key in (rotated, newest):
            problem(place.post(key, "logits", body), 401, "unauthenticated")


def test_whoever_revokes_a_key_ends_those_before_it_too(live: Range) -> None:
    first, body = live.key(100), encode_npy(pictures(1))
    second = live.admin("POST", "/keys/key/rotation", {})["key"]
    live.admin("PATCH", "/keys/key", {"revoked": True})
    for key in (first, second):
        problem(live.post(key, "logits", body), 401, "unauthenticated")
    refused = live.client.post(
        f"{live.url}/admin/keys/key/rotation", json={}, headers={"Authorization": f"Bearer {OPERATOR}"}
    )
    problem(refused, 409, "conflict")


@pytest.mark.parametrize("order", list(permutations([(OLD_KEY,), (OLD_KEY, NEW_KEY), (NEW_KEY, OLD_KEY)])))
def test_an_account_takes_the_keys_of_both_secrets_whoever_asks_first(
    live: Range, order: tuple[tuple[str, ...], ...]
) -> None:
    for key, *further in order:
        if live.client.get(
            f"{live.url}/admin/keys/key", headers={"Authorization": f"Bearer {OPERATOR}"}
        ).is_success:
            live.admin("POST", "/keys", _request(key, further), status=200)
        else:
            live.admin("POST", "/keys", _request(key, further), status=201)
    body = encode_npy(pictures(1))
    assert [live.post(key, "logits", body).status_code for key in (OLD_KEY, NEW_KEY)] == [200, 200]
    assert live.account()["spent"] == 2
    live.admin("POST", "/keys", _request(NEW_KEY, []), status=200)
    live.admin("POST", "/keys", {**_request(NEW_KEY, []), "id": "thief"}, status=409)
    live.admin("POST", "/keys", _request("lr_" + "x" * 40, []), status=409)


def _request(key: str, further: list[str]) -> dict[str, object]:
    return {"name": "fleet", "budget": 10, "id": "key", "key": key, "further_keys": further}


def test_the_operator_key_is_rotated_proxy_by_proxy(live: Range, another: Callable[..., Range]) -> None:
    """Each step is a restart. Whoever shows the first key of any step is accepted at its neighbours."""
    live.policy({"noise": {"scale": 0.5, "sticky": True}})
    key, images = live.key(100), pictures(3)
    before = live.query(key, images)
    lists = [OPERATOR, f"{OPERATOR},{NEW}", f"{NEW},{OPERATOR}", NEW]
    steps = [another(operator_key=each, derivation_key=OPERATOR) for each in lists]
    for number, step in enumerate(steps):
        neighbours = lists[max(0, number - 1) : number + 2]
        for shown in {each.split(",")[0] for each in neighbours}:
            assert _status(step, shown) == 200, (number, shown)
        assert np.array_equal(step.query(key, images), before)
    assert [_status(steps[0], NEW), _status(steps[3], OPERATOR)] == [403, 403]
    assert not np.array_equal(another(operator_key=NEW).query(key, images), before)


def _status(place: Range, key: str) -> int:
    answer: httpx.Response = place.client.get(
        f"{place.url}/admin/keys", headers={"Authorization": f"Bearer {key}"}
    )
    return answer.status_code


def test_the_command_prints_the_new_key_alone(live: Range) -> None:
    first = live.key(5)
    done = command(live, "keys", "rotate", "key", "--overlap", "60")
    assert done.returncode == 0, done.stderr
    assert "valid for 60 s more" in done.stderr
    body = encode_npy(pictures(1))
    for key in (first, done.stdout.split()[-1]):
        assert live.post(key, "logits", body).status_code == 200
    assert json.loads(command(live, "keys", "show", "key", "--json").stdout)["spent"] == 2
    assert command(live, "keys", "rotate", "nobody").returncode == 4
