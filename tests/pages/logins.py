"""Clients that are logged in, and the token that their forms carry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.controller.conftest import OPERATOR

__all__ = ["login", "plain", "token"]


@contextmanager
def login(url: str, key: str = OPERATOR) -> Iterator[httpx.Client]:
    """A client that is logged in by that key, at the address of its login."""
    with httpx.Client(base_url=url, timeout=30) as client:
        answer = client.post("/login", data={"key": key})
        assert answer.status_code == 303, answer.text
        client.base_url = client.base_url.join(answer.headers["location"])
        yield client


def token(client: httpx.Client) -> str:
    """What the forms of its pages carry."""
    page = client.get("/", headers={"Accept": "text/html"}).text
    return page.split('"X-CSRF-Token": "')[1].split('"')[0]


def plain(path: str) -> str:
    """The path of a page without the address of a login, which it must have."""
    assert path.startswith("/in/"), path
    return "/" + path.split("/", 3)[3]
